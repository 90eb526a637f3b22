# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have all nodes the same script and configuration?"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.node import Node
from .._cluster.peers import usual
from .model import Cluster, Looks, Seen, completed, fine, skip, unknown

Facts = Mapping[str, NodeFacts]


def files(cluster: Cluster) -> Looks:
    """Find nodes where script or configuration is missing or another one."""
    launch = cluster.launch
    # Without the directory no file can be there, which is told by its own check.
    facts = {name: node.facts for name, node in cluster.nodes.items() if not _no_code(node)}

    def well(node: Node) -> Seen:
        if not launch.files:
            return skip("the inventory names no script")
        if _no_code(node):
            return skip("the code directory is not there")
        if node.facts.files is None:
            return unknown("nobody could look for files", "files")
        return fine(", ".join(path for path, _origin in launch.files.values()), "the same sha256")

    found: list[tuple[str | None, Seen]] = []
    for what, (path, origin) in launch.files.items():
        found += check_file(facts, what, path, origin)
        if what == "config":
            found += check_config(facts, origin)
    return completed(cluster, found, well)


def _no_code(node: Node) -> bool:
    return node.facts.code is not None and not node.facts.code.exists


def check_file(facts: Facts, what: str, path: str, source: str) -> Looks:
    """Find nodes where a file of the launch (what is script or config) is missing, unreadable or another one."""
    digests: dict[str, str] = {}
    for node, each in facts.items():
        if each.files is None:
            continue
        file = each.files.get(path)
        if file is not None and file.sha256 is not None:
            digests[node] = file.sha256
            continue
        state = "does not exist" if file is None or not file.exists else "is no file that can be read"
        seen, expected = f"{file.path if file else path} {state}", "the same readable file on every node"
        remedy = f"put it there, or name another with -e {what}=PATH (relative to launch_code_dir)"
        yield node, Seen("fail", seen, expected, source, remedy)
    peers = usual(digests)
    if peers is None:
        return
    for node in peers.odd:
        seen = f"{path} has sha256 {digests[node][:12]}…"
        expected = f"the same file on every node, {peers.value[:12]}… {peers.source}"
        remedy = f"copy {path} from {peers.nodes[0]}, or bring the code to the same state everywhere"
        yield node, Seen("fail", seen, expected, source, remedy)


def check_config(facts: Facts, source: str) -> Looks:
    """Find a configuration that is no YAML mapping; its tags and values are the script's own affair."""
    faults: dict[str, str | None] = {}
    remedy = "correct the file, or name another with -e config=PATH"
    for node, each in facts.items():
        if each.config is None:
            continue
        text = each.config.text
        if text is None:
            seen = f"{each.config.path} is not checked: too large, or not UTF-8"
            yield node, Seen("warn", seen, "a YAML mapping", source, remedy)
            continue
        if text not in faults:
            faults[text] = _yaml_fault(text)
        if fault := faults[text]:
            yield node, Seen("fail", f"{each.config.path}{fault}", "a YAML mapping", source, remedy)


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
