# SPDX-License-Identifier: GPL-3.0-or-later
"""Do all nodes have the same script and configuration?"""

from __future__ import annotations

import posixpath

import yaml

from .._cluster.machines import FactsByNode
from .._cluster.node import Node
from .._cluster.peers import usual
from .._text.nearest import nearest, question
from .model import Cluster, Outcome, Outcomes, completed, failed, passed, skipped, unavailable

YAML = (".yaml", ".yml")


def files(cluster: Cluster) -> Outcomes:
    """Find nodes where script or configuration is missing or different."""
    launch = cluster.launch
    # Another check reports a missing directory.
    facts = {name: node.facts for name, node in cluster.nodes.items() if not _no_code(node)}

    def otherwise(node: Node) -> Outcome:
        if not launch.files:
            return skipped("the inventory names no script")
        if _no_code(node):
            return skipped("the code directory does not exist")
        if node.facts.files is None:
            return unavailable("the files could not be read", "files")
        return passed(", ".join(path for path, _origin in launch.files.values()), "the same sha256")

    outcomes: list[tuple[str | None, Outcome]] = []
    for kind, (path, origin) in launch.files.items():
        outcomes += check_file(facts, kind, path, origin)
        if kind == "config":
            outcomes += check_config(facts, origin)
    return completed(cluster, outcomes, otherwise)


def _no_code(node: Node) -> bool:
    return node.facts.code is not None and not node.facts.code.exists


def check_file(facts: FactsByNode, kind: str, path: str, source: str) -> Outcomes:
    """Find nodes where a file of the launch (kind is script or config) is missing, unreadable or different."""
    digests: dict[str, str] = {}
    for name, node in facts.items():
        if node.files is None:
            continue
        file = node.files.get(path)
        if file is not None and file.sha256 is not None:
            digests[name] = file.sha256
            continue
        state = "does not exist" if file is None or not file.exists else "is not a readable file"
        observed, expected = f"{file.path if file else path} {state}", "the same readable file on every node"
        meant = nearest(posixpath.basename(path), file.beside) if file else None
        remedy = f"{question(meant)}put it there, or name another with -e {kind}=PATH (relative to launch_code_dir)"
        yield name, failed(observed, expected, source, remedy)
    peers = usual(digests)
    if peers is None:
        return
    for name in peers.odd:
        observed = f"{path} has sha256 {digests[name][:12]}…"
        expected = f"the same file on every node, {peers.value[:12]}… {peers.source}"
        remedy = f"copy {path} from {peers.nodes[0]}, or bring the code to the same state everywhere"
        yield name, failed(observed, expected, source, remedy)


def check_config(facts: FactsByNode, source: str) -> Outcomes:
    """Find a YAML configuration that is not a mapping; the script judges its tags and values, and other formats."""
    faults: dict[str, str | None] = {}
    remedy = "correct the file, or name another with -e config=PATH"
    for name, node in facts.items():
        if node.config is None or not node.config.path.endswith(YAML):
            continue
        text = node.config.text
        if text is None:
            observed = f"{node.config.path} is not checked: too large, or not UTF-8"
            yield name, Outcome("warn", observed, "a YAML mapping", source, remedy)
            continue
        if text not in faults:
            faults[text] = _yaml_fault(text)
        if fault := faults[text]:
            yield name, failed(f"{node.config.path}{fault}", "a YAML mapping", source, remedy)


def _yaml_fault(text: str) -> str | None:
    """Return why a text is not a YAML mapping: `:line:column: problem`, or what it is instead; None if it is one."""
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
