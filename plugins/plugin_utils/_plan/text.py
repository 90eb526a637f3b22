# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as text for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.finding import Finding, lines
from .._findings.origin import Layer
from .._text.table import node_names
from . import pairs
from .sections import aligned_rows, node_sections


def render(plan: Mapping[str, Any]) -> str:
    """Render the whole plan: the run, then every node's directories, command and environment."""
    sections = [[f"run {plan['run_id']}", *aligned_rows(_of_the_run(plan))]]
    chosen = [
        (name, _value(setting["value"]), setting["origin"])
        for name, setting in plan["parameters"].items()
        if setting["layer"] != Layer.DEFAULT
    ]
    if chosen:
        sections.append(["parameters", *aligned_rows(chosen)])
    if warnings := [Finding(**finding) for finding in plan["findings"]]:
        sections.append(["warnings", *(f"  {line}" for line in lines(warnings))])
    if not_set := _not_set(plan["not_set"]):
        sections.append(["not set", *aligned_rows(not_set)])
    every = bool(plan["parameters"].get("all", {}).get("value"))
    for members in (plan["nodes"], plan["spares"]):
        sections += node_sections([plan["jobs"][node] for node in members], plan["head"]["node"], every)
    return "\n\n".join("\n".join(clean(line) for line in section) for section in sections) + "\n"


def header(plan: Mapping[str, Any]) -> list[str]:
    """Render what is the same for the whole run, for a check without --diff."""
    rows = [*_of_the_run(plan), ("nodes", ", ".join(plan["nodes"]), "")]
    if plan["spares"]:
        rows.append(("spares", ", ".join(plan["spares"]), "take the ranks of nodes that are lost"))
    last = "nothing was started; --diff shows everything: directories, commands and environment of every node"
    return [clean(line) for line in (f"run {plan['run_id']}", *aligned_rows(rows), last)]


def _of_the_run(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    head, code = plan["head"], plan["code"]
    nodes = "1 node" if plan["nnodes"] == 1 else f"{plan['nnodes']} nodes"
    rows = [
        ("command", plan["command"], ""),
        ("ranks", f"{plan['world_size']} on {nodes}, {plan['nproc']} each", plan["nproc_reason"]),
        ("head", f"{head['node']} at {head['address']}", head["reason"]),
        ("port", str(plan["master_port"]), plan["port_reason"]),
        *_gang(plan),
        ("fabric", plan["fabric"]["value"], plan["fabric"]["reason"]),
        *pairs.rows(plan),
        ("experiment", plan["experiment"], ""),
    ]
    if code and code["commit"]:
        rows.append(("code", f"{code['commit'][:12]}{', with changes' if code['dirty'] else ''}", code["branch"] or ""))
    elif code and code["tree"]:
        rows.append(("code", f"files {code['tree'][:12]}", ""))
    return rows


def _gang(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return how the runners of several nodes are connected, and how often a failed run is restarted."""
    gang = plan["jobs"][plan["head"]["node"]]["gang"]
    rows = []
    if plan["nnodes"] > 1:
        lost = gang["lost_after"]
        after = f"a node that is silent for {lost} s is lost, and ends the run" if lost else "no node is ever lost"
        rows.append(("runners", str(gang["port"]), f"their port, the one below; {after}"))
    if gang["max_restarts"]:
        rows.append(("restarts", f"at most {gang['max_restarts']}", "after a failure, at the next port"))
    return rows


def _not_set(not_set: Mapping[str, Sequence[Mapping[str, str]]]) -> list[tuple[str, str, str]]:
    """Group what is deliberately not set by reason, and name the nodes if it is not all of them."""
    nodes: dict[tuple[str, str, str], list[str]] = {}
    for node, items in not_set.items():
        for item in items:
            nodes.setdefault((item["rule"], item["reason"], item["name"]), []).append(node)
    variables: dict[tuple[str, str, str], list[str]] = {}
    for (rule, reason, name), where in nodes.items():
        on = "" if len(where) == len(not_set) else f"on {node_names(where)}"
        variables.setdefault((rule, reason, on), []).append(name)
    return [(", ".join(alike), on, f"{rule}: {reason}") for (rule, reason, on), alike in variables.items()]


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return shlex.join(f"{name}={text}" for name, text in value.items())
    return shlex.join(value) if isinstance(value, list) else str(value)
