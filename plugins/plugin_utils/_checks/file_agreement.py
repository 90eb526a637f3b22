# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have all nodes the same script and configuration?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.peers import usual
from .._findings.finding import Finding

Facts = Mapping[str, NodeFacts]


def check_file(facts: Facts, what: str, path: str, source: str) -> list[Finding]:
    """Find nodes where a file of the launch (what is script or config) is missing, unreadable or another one."""
    findings = []
    digests: dict[str, str] = {}
    for node, each in facts.items():
        if each.files is None:
            continue
        file = each.files.get(path)
        if file is not None and file.sha256 is not None:
            digests[node] = file.sha256
            continue
        state = "does not exist" if file is None or not file.exists else "is no file that can be read"
        findings.append(
            Finding(
                check=what,
                node=node,
                status="fail",
                observed=f"{file.path if file else path} {state}",
                expected="the same readable file on every node",
                source=source,
                remedy=f"put it there, or name another with -e {what}=PATH (relative to launch_code_dir)",
            )
        )
    return findings + _odd_ones(what, path, source, digests)


def _odd_ones(what: str, path: str, source: str, digests: Mapping[str, str]) -> list[Finding]:
    """Name the nodes whose file differs from that of most nodes (at a draw: from the first node's)."""
    peers = usual(digests)
    if peers is None:
        return []
    return [
        Finding(
            check=what,
            node=node,
            status="fail",
            observed=f"{path} has sha256 {digests[node][:12]}…",
            expected=f"the same file on every node, {peers.value[:12]}… {peers.source}",
            source=source,
            remedy=f"copy {path} from {peers.nodes[0]}, or bring the code to the same state everywhere",
        )
        for node in peers.odd
    ]


def check_config(facts: Facts, source: str) -> list[Finding]:
    """Find a configuration that is no YAML mapping; its tags and values are the script's own affair."""
    faults: dict[str, str | None] = {}
    findings = []
    for node, each in facts.items():
        if each.config is None:
            continue
        text = each.config.text
        if text is None:
            findings.append(
                _config_finding(node, "warn", f"{each.config.path} is not checked: too large, or not UTF-8", source)
            )
            continue
        if text not in faults:
            faults[text] = _yaml_fault(text)
        fault = faults[text]
        if fault is not None:
            findings.append(_config_finding(node, "fail", f"{each.config.path}{fault}", source))
    return findings


def _config_finding(node: str, status: Literal["warn", "fail"], observed: str, source: str) -> Finding:
    return Finding(
        check="config",
        node=node,
        status=status,
        observed=observed,
        expected="a YAML mapping",
        source=source,
        remedy="correct the file, or name another with -e config=PATH",
    )


def _yaml_fault(text: str) -> str | None:
    """Say why a text is no YAML mapping: `:line:column: problem`, or what it is instead."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        return f"{place}: {' '.join(part for part in (error.context, error.problem) if part)}"
    except yaml.YAMLError as error:
        return f": {' '.join(str(error).split())}"
    except RecursionError:
        return " is nested too deeply"
    if node is None:
        return " is empty"
    kind = "list" if isinstance(node, yaml.SequenceNode) else "single value"
    return None if isinstance(node, yaml.MappingNode) else f" holds a {kind}, not a mapping"
