# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a whole run, from what every node says of its part."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.cause import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.job import ACTIVE, ENDED, NOT_BEGUN, SILENT
from ansible_collections.muster.train.plugins.module_utils._records.run import End, NodeReport, RankFailure, RunRecord

from .._text.table import names, one_line
from . import causes
from .causes import Cause, Failure

DRAINING = ("stopping", "drained")
# Behind `succeeded`, of a script that wrote none.
NO_METRICS = ", no metrics reported"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a run. Times are UTC (2026-11-20T14:30:52Z), elapsed_s is the seconds of the longest part.

    verdict: succeeded, failed, stopped, lost, running or waiting; partial (begun on some nodes only), prepared
    (begun on none), not_found (no node knows it) or unknown (nodes do not answer).
    """

    verdict: str
    node: str | None
    rank: int | None
    why: str | None
    cause: Cause | None
    log_tail: list[str]
    consequences: list[str]
    active: list[str]  # nodes where it still goes on
    exit_codes: dict[str, int | None]
    started: str | None
    ended: str | None
    elapsed_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dataclasses.asdict(self)


def members(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the parts that belong to the run: of the group's, in node-rank order, as many as it has nodes.

    Where all its ranks are found no other node has a part in it, even if the group's order is another by now. Nor has a
    spare that waits for a rank, a node whose rank a spare took, or one that knows an earlier launch of the run only.
    """
    parts = list(runs)
    newest = max((run for run in parts if run.nonce), key=lambda run: run.created or "", default=None)
    if newest is not None:
        parts = [run for run in parts if run.nonce in (None, newest.nonce)]
    parts = [run for run in parts if not is_idle_spare(run)]
    last: dict[object, tuple[int, bool]] = {}
    for run in parts:
        last[run.node_rank] = max(_seat(run), last.get(run.node_rank, _seat(run)))
    parts = [run for run in parts if run.node_rank is None or _seat(run) == last[run.node_rank]]
    found = [run for run in parts if has_runner(run)]
    world = max((run.world_size or 0 for run in found), default=0)
    complete = world and sum(run.nproc or 0 for run in found) >= world
    nnodes = max((run.nnodes or 0 for run in found), default=0) or len(parts)
    return found if complete else [run for rank, run in enumerate(parts) if rank < nnodes or run in found]


def _seat(run: RunRecord) -> tuple[int, bool]:
    """Of two nodes with one rank the one that began the later attempt has it; who began none lost it to a spare."""
    return run.attempt or 0, bool(run.started)


def has_runner(run: RunRecord) -> bool:
    """Say whether a runner took this run up on a node that answered."""
    return run.phase not in (*SILENT, *NOT_BEGUN)


def is_idle_spare(run: RunRecord) -> bool:
    """Say whether a node has a runner of this run, but no ranks."""
    return bool(run.nnodes) and (run.node_rank or 0) >= (run.nnodes or 0)


def judge(runs: Sequence[RunRecord]) -> Verdict:
    """Return the verdict from the `run` records of all nodes, in node-rank order (`run_info` documents their keys).

    Where the gang has ended the run, its word is the verdict; which failure led to it the nodes' records tell best.
    """
    parts = members(runs)
    drains = any(run.node_rank == 0 and run.phase in DRAINING and run.alive for run in parts)
    end = None if drains else _last_word(parts)
    failures = causes.ordered(parts if end is None else _with_reports(parts))
    verdict: str
    why: str | None
    if drains and failures:
        # The head may yet seat a spare, or start all again.
        verdict, why, cause = (
            "running",
            f"{failures[0].text}; this attempt is being ended, then the run is over or started again",
            None,
        )
    elif end is not None:
        verdict, why, cause = _ended(end, failures)
    else:
        verdict, why, cause = _decide(parts, failures)
    rest = [] if drains else [failure.text for failure in failures if failure is not cause]
    note = f"; {one_line(end.note)}" if end is not None and end.note and cause else ""
    active = [run for run in parts if run.phase in ACTIVE]
    if verdict in ENDED:
        rest += [f"{run.node}: still {run.phase}" for run in active]
    started = [run.started for run in parts if run.started]
    ended = [run.ended for run in parts if run.ended]
    elapsed = [run.elapsed_s for run in parts if run.elapsed_s is not None]
    return Verdict(
        verdict=verdict,
        node=cause.node if cause else None,
        rank=cause.cause.rank if cause else None,
        why=f"{cause.text}{note}" if cause else why,
        cause=cause.cause if cause else None,
        log_tail=list(cause.tail) if cause else [],
        consequences=rest,
        active=[str(run.node) for run in active],
        exit_codes={str(run.node): run.exit_code for run in parts},
        started=min(started, default=None),
        ended=max(ended) if parts and len(ended) == len(parts) else None,
        elapsed_s=round(max(elapsed), 1) if elapsed else None,
    )


def _last_word(parts: Sequence[RunRecord]) -> End | None:
    """Return how the gang has ended the run, None where it has not; who was cut off and went on has no word for all."""
    return next((run.end for run in parts if run.end and run.end.verdict in ENDED), None)


def _ended(end: End, failures: Sequence[Failure]) -> tuple[str, str | None, Failure | None]:
    """Return (verdict, why without a cause, cause) of a run that the gang has ended."""
    verdict, why = str(end.verdict), one_line(end.why) if end.why else None
    likely = failures[0] if failures else None
    if verdict == "failed" and likely is not None and likely.likeness != Likeness.SILENT:
        return verdict, None, likely
    if verdict == "lost" and likely is not None and likely.likeness == Likeness.LOST:
        return verdict, None, likely
    return verdict, why, None


def _with_reports(parts: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the parts with what the head knows of nodes that do not answer now; of those that were done, nothing."""
    gangs = [run.gang for run in parts if run.gang]
    reports = {report.node: report for gang in gangs for report in gang.reports if report.attempt == gang.attempt}
    answers = []
    for run in parts:
        report = reports.get(run.node)
        if has_runner(run):
            answers.append(run)
        elif report is not None:
            answers.append(_reported(run, report))
    return answers


def _reported(run: RunRecord, report: NodeReport) -> RunRecord:
    first = None if report.rank is None else RankFailure.from_dict(report.to_dict())
    return dataclasses.replace(
        run, phase=report.phase, why=report.why, exit_code=report.exit_code, signal=report.signal, first=first
    )


def _decide(parts: Sequence[RunRecord], failures: Sequence[Failure]) -> tuple[str, str | None, Failure | None]:
    """Return (verdict, why without a cause, cause)."""
    nodes: dict[str, list[str]] = {}
    for run in parts:
        nodes.setdefault(run.phase, []).append(str(run.node))
    # Nodes hear of a stop one after the other: ranks that lose their peers in between did not fail by themselves.
    here = [failure for failure in failures if failure.node in nodes.get("failed", [])]
    followed = "stopped" in nodes and all(failure.likeness >= Likeness.UNCLEAR for failure in here)
    if here and not followed:
        return "failed", None, failures[0]
    if "lost" in nodes:
        return "lost", None, failures[0]
    missing = [name for phase in NOT_BEGUN for name in nodes.get(phase, [])]
    going = [name for phase in ACTIVE for name in nodes.get(phase, [])]
    if going:
        if missing and "stopped" not in nodes:
            return "partial", f"on {names(going)}, not begun on {names(missing)}: stop ends and cleans it", None
        verdict = "waiting" if set(nodes) <= {"waiting", *SILENT} else "running"
        return verdict, _uneven(nodes), None
    if "stopped" in nodes and not any(phase in nodes for phase in SILENT):
        return "stopped", _reason(run for run in parts if run.phase == "stopped"), None
    if failures:  # nodes that do not answer
        return "unknown", None, failures[0]
    if "succeeded" in nodes:
        if missing:
            return "partial", f"nothing of it is on {names(missing)}", None
        return "succeeded", None, None
    if "prepared" in nodes:
        return "prepared", f"prepared on {names(nodes['prepared'])}, begun nowhere: stop cleans it", None
    return "not_found", "no node knows this run", None


def _reason(runs: Iterable[RunRecord]) -> str | None:
    return next((one_line(run.why) for run in runs if run.why), None)


def _uneven(nodes: Mapping[str, Sequence[str]]) -> str | None:
    """Say which nodes are in which phase; None when all simply run."""
    return None if set(nodes) <= {"running"} else ", ".join(f"{phase} on {names(nodes[phase])}" for phase in nodes)
