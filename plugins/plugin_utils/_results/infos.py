# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes' answers: their registered results, as the reports need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gang import NodeStatus, read_nodes
from ansible_collections.muster.train.plugins.module_utils._records.hidden import HiddenRuns
from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness, read_likeness
from ansible_collections.muster.train.plugins.module_utils._records.listed_run import ListedRun
from ansible_collections.muster.train.plugins.module_utils._records.remaining import RemainingFiles
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._records.stacks import RankStacks

from .._cluster.node import Silent, silent_of
from .._cluster.reasons import ReasonKey
from .._cluster.silence import summarize, why_silent
from .._cluster.slot import earliest, explain_refusal, read_holder
from .._cluster.unreachable import is_about_modules
from .._findings.finding import Finding
from .._findings.invocation import Invocation
from .._text.table import one_line
from .by_head import place, speak


@frozen
class Info:
    """One node's answer; without one, the run has the phase `unreachable` or `unknown`.

    finding says why not, and what to do.
    """

    node: str
    run: RunRecord
    runs: list[ListedRun] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    answered: bool = True
    hidden: HiddenRuns | None = None
    changed: bool = False
    remaining: RemainingFiles | None = None  # of a node whose files were collected
    nodes: list[NodeStatus] = field(default_factory=list)  # what the head knows of all
    stacks: list[RankStacks] = field(default_factory=list)
    finding: Finding | None = None
    waiting: list[LaunchHolder] = field(default_factory=list)  # launches that wait for a slot


def read_infos(results: Iterable[tuple[str, object]]) -> list[Info]:
    """Return each node's answer, from (node, result of `run_info`, `run`, `run_stop` or `collect.fetch`, or None)."""
    # A node that was skipped has no part in the run: a spare took its place.
    answered = [
        (node, result) for node, result in results if not (isinstance(result, Mapping) and result.get("skipped"))
    ]
    since = earliest(read_holder(result) for _node, result in answered if isinstance(result, Mapping))
    infos = [_read(node, result, since) for node, result in answered]
    head = next((info for info in infos if info.nodes), None)
    if head is None:
        return infos
    statuses = {status.node: status for status in head.nodes}
    completed = []
    for (node, result), info in zip(answered, infos, strict=True):
        status = statuses.get(node)
        if result is None and status is not None:
            completed.append(_by_head(head, status, info))
        elif result is not None:
            completed.append(info if info.answered or status is None else _with_ranks(info, head, status))
    return completed


def _by_head(head: Info, status: NodeStatus, info: Info) -> Info:
    """Return the answer of a node that was not asked, as the head gives it; what it cannot say stays unknown."""
    run = speak(head.run, status)
    if run is None:
        return _with_ranks(info, head, status)
    listed = [ListedRun(run.run_id, run.created, run.phase, run.alive)]
    return Info(info.node, run, listed, changed=head.changed)


def _with_ranks(info: Info, head: Info, status: NodeStatus) -> Info:
    return dataclasses.replace(info, run=place(info.run, head.run, status))


def _read(node: str, result: Any, since: Mapping[str | None, str]) -> Info:
    if not isinstance(result, Mapping):
        return _without_answer(node, "unknown", "it was not contacted", Likeness.SILENT)
    answer = result.get("run")
    if isinstance(answer, dict) and answer.get("phase"):
        run = RunRecord.from_dict(answer)
        why = one_line(result.get("why") or result.get("msg") or run.why) if result.get("failed") else run.why
        run = dataclasses.replace(run, node=run.node or node, why=why)
        runs = [ListedRun.from_dict(listed) for listed in result.get("runs") or []]
        return Info(
            node,
            run,
            runs,
            result.get("log") or [],
            hidden=HiddenRuns.optional(result.get("hidden")),
            changed=bool(result.get("changed")),
            remaining=RemainingFiles.optional(result.get("remaining")),
            nodes=read_nodes(result.get("nodes")),
            stacks=RankStacks.several(result.get("stacks")),
            waiting=LaunchHolder.several(result.get("waiting")),
        )
    is_late = isinstance(result.get("timedout"), Mapping)
    phase = "unreachable" if result.get("unreachable") or is_late else "unknown"
    silent = _late(node, result) if is_late else silent_of(node, result, "no reason given")
    finding, why = explain_refusal(node, result, since), result.get("why") or silent.why
    if phase == "unreachable" or is_about_modules(silent.message, silent.reason_key):
        finding, why = why_silent(silent), summarize(silent)
    # A module that crashed has its traceback on the standard error.
    tail = result.get("log_tail") or str(result.get("module_stderr") or "").splitlines()
    # A module that names no likeness failed by itself, whatever it says.
    likeness = Likeness.SILENT if phase == "unreachable" else result.get("likeness", Likeness.OWN)
    info = _without_answer(node, phase, why, read_likeness(likeness), tail)
    return dataclasses.replace(info, finding=finding)


def _late(node: str, result: Mapping[str, Any]) -> Silent:
    """Return a node that did not answer within the task's time limit."""
    return Silent(node, f"no answer within {result['timedout'].get('period')} s", reason_key=ReasonKey.NO_ANSWER)


def _without_answer(node: str, phase: str, why: str, likeness: Likeness, tail: Sequence[str] = ()) -> Info:
    run = RunRecord(node=node, phase=phase, why=one_line(why), likeness=int(likeness), log_tail=list(tail))
    return Info(node, run, answered=False)


def runs_of(infos: Iterable[Info]) -> list[RunRecord]:
    """Return the `run` records."""
    return [info.run for info in infos]


def with_call(infos: Iterable[Info], invocation: Invocation) -> list[Info]:
    """Return the answers with remedies whose commands are called as the user called this one."""
    return [
        dataclasses.replace(
            info, finding=dataclasses.replace(info.finding, remedy=invocation.fill(info.finding.remedy))
        )
        if info.finding
        else info
        for info in infos
    ]
