# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
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

WIDEST = 40  # the remark of a longer value is not aligned


def render(plan: Mapping[str, Any]) -> str:
    """Render the whole plan: the run, then every node's directories, command and environment."""
    sections = [[f"run {plan['run_id']}", *_table(_of_the_run(plan))]]
    chosen = [
        (name, _value(setting["value"]), setting["origin"])
        for name, setting in plan["parameters"].items()
        if setting["layer"] != Layer.DEFAULT
    ]
    if chosen:
        sections.append(["parameters", *_table(chosen)])
    if warnings := [Finding(**finding) for finding in plan["findings"]]:
        sections.append(["warnings", *(f"  {line}" for line in lines(warnings))])
    if not_set := _not_set(plan["not_set"]):
        sections.append(["not set", *_table(not_set)])
    sections += [_node(plan["jobs"][node], plan["head"]["node"]) for node in (*plan["nodes"], *plan["spares"])]
    return "\n\n".join("\n".join(clean(line) for line in section) for section in sections) + "\n"


def header(plan: Mapping[str, Any]) -> list[str]:
    """Render what is the same for the whole run, for a check without --diff."""
    rows = [*_of_the_run(plan), ("nodes", ", ".join(plan["nodes"]), "")]
    if plan["spares"]:
        rows.append(("spares", ", ".join(plan["spares"]), "take the ranks of nodes that are lost"))
    last = "nothing was started; --diff shows everything: directories, commands and environment of every node"
    return [clean(line) for line in (f"run {plan['run_id']}", *_table(rows), last)]


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


def _node(job: Mapping[str, Any], head: str) -> list[str]:
    spare = job["node_rank"] >= job["nnodes"]
    last = job["first_rank"] + job["nproc"] - 1
    ranks = f"rank {last}" if job["nproc"] == 1 else f"ranks {job['first_rank']}-{last}"
    rows = [
        ("work directory", job["workdir"], f"slot {job['slot']}"),
        ("run directory", job["run_dir"], ""),
        ("outputs", job["output_dir"], ""),
        ("code directory", job["code_dir"], ""),
        *([("ranks start in", job["cwd"], "launch_cwd")] if job["cwd"] != job["code_dir"] else []),
        ("starter", job["starter"], job["starter_reason"]),
        *_container(job["container"]),
        ("to stop", f"{job['stop_grace']} s", ""),
        *([("time limit", f"{job['time_limit']} s", "")] if job["time_limit"] else []),
    ]
    variables = [(f"{item['name']}={shlex.quote(item['value'])}", _remark(item)) for item in job["environment"]]
    width = min(WIDEST, max(len(assignment) for assignment, _why in variables))
    title = f"node {job['node_rank']}: {job['node']}{' (head)' if job['node'] == head else ''}, {ranks}"
    return [
        f"spare: {job['node']}, takes the ranks of a node that is lost" if spare else title,
        *_table(rows),
        "  command",
        *_command(job["argv"]),
        "  environment",
        *(f"    {assignment:<{width}}  # {remark}" for assignment, remark in variables),
    ]


def _container(container: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if container is None:
        return []
    source = ", with ".join([f"{container['service']} of {container['file']}", *container["mounts"]])
    return [("container", container["name"], source)]


def _command(argv: Sequence[str]) -> list[str]:
    """Break a command into lines: one per word, an option with its value on one line."""
    rows: list[str] = []
    before = ""
    for word in argv:
        if before.startswith("-") and "=" not in before and not word.startswith("-"):
            rows[-1] += f" {shlex.quote(word)}"
        else:
            rows.append(shlex.quote(word))
        before = word
    indents = ["    ", *["      "] * (len(rows) - 1)]
    ends = [*[" \\"] * (len(rows) - 1), ""]
    return [f"{indent}{row}{end}" for indent, row, end in zip(indents, rows, ends, strict=True)]


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Align names, values and remarks."""
    width = max(len(name) for name, _value, _why in rows)
    return [f"  {name:<{width}}  {value}{f'  # {remark}' if remark else ''}" for name, value, remark in rows]


def _remark(variable: Mapping[str, str]) -> str:
    origin = f"{variable['origin']} {variable['rule']}".strip()
    return f"{origin}: {variable['reason']}" if variable["reason"] else origin


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return shlex.join(f"{name}={text}" for name, text in value.items())
    return shlex.join(value) if isinstance(value, list) else str(value)
