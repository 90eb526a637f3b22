# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes answered: their registered results, as the reports need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._records.run import ListedRun, RunRecord

from .._text.table import one_line

# What every action takes that works on the nodes' answers.
OPTIONS: dict[str, dict[str, Any]] = {
    "request": {"type": "dict", "default": {}},
    "run_id": {"type": "str"},
    "nodes": {"type": "list", "elements": "str"},
    "register": {"type": "str", "default": "launch__info"},
}


@dataclass(frozen=True)
class Info:
    """One node's answer; the run of a node that did not give one has the phase `unreachable` or `unknown`."""

    node: str
    run: RunRecord
    runs: list[ListedRun] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    answered: bool = True
    changed: bool = False


def answers(variables: Mapping[str, Any], args: Mapping[str, Any]) -> list[Info]:
    """Return the answers of the nodes that a task is about: its own, its plan's or request's, or the whole group."""
    known = args.get("plan") or args["request"]
    nodes = args["nodes"] or [*(known.get("nodes") or variables["groups"].get("nodes", [])), *known.get("spares", [])]
    return gather(variables, nodes, args["register"])


def gather(variables: Mapping[str, Any], nodes: Iterable[str], register: str) -> list[Info]:
    """Return each node's answer from a task's variables: what was registered by this name on every node."""
    hostvars = variables["hostvars"]
    results = ((node, hostvars[node].get(register) if node in hostvars else None) for node in nodes)
    return read_infos((node, transform_to_native_types(result, redact=False)) for node, result in results)


def read_infos(results: Iterable[tuple[str, object]]) -> list[Info]:
    """Return each node's answer, from (node, result of `run_info`, `run` or `run_collect`; None: there is none)."""
    # Whoever was skipped has no part in it: a spare has its place.
    return [
        _read(node, result) for node, result in results if not (isinstance(result, Mapping) and result.get("skipped"))
    ]


def _read(node: str, result: Any) -> Info:
    if not isinstance(result, Mapping):
        return _without_answer(node, "unknown", "it was not asked")
    answer = result.get("run")
    if isinstance(answer, dict) and answer.get("phase"):
        run = RunRecord.from_dict(answer)
        why = one_line(result.get("msg") or run.why) if result.get("failed") else run.why
        run = dataclasses.replace(run, node=run.node or node, why=why)
        runs = [ListedRun.from_dict(listed) for listed in result.get("runs") or []]
        return Info(node, run, runs, result.get("log") or [], changed=bool(result.get("changed")))
    # What the node said is in the message; a module that crashed says the rest on its standard error.
    said = str(result.get("msg") or "no reason given").removeprefix("Task failed: ").removeprefix(f"{node}: ")
    phase = "unreachable" if result.get("unreachable") else "unknown"
    tail = result.get("log_tail") or str(result.get("module_stderr") or "").splitlines()
    return _without_answer(node, phase, said, tail)


def _without_answer(node: str, phase: str, why: str, tail: Sequence[str] = ()) -> Info:
    run = RunRecord(node=node, phase=phase, why=one_line(why), log_tail=list(tail))
    return Info(node, run, answered=False)


def runs_of(infos: Iterable[Info]) -> list[RunRecord]:
    """Return the `run` records."""
    return [info.run for info in infos]


def run_id_of(infos: Iterable[Info], *asked: str | None) -> str | None:
    """Return the run that is spoken of: the first that was asked for, or the one that the first node told of."""
    told = (info.run.run_id for info in infos)
    return next((run_id for run_id in (*asked, *told) if run_id), None)
