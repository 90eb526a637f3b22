# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a whole run, from every node's record of its part."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness, read_likeness
from ansible_collections.muster.train.plugins.module_utils._records.phases import ACTIVE, ENDED, NOT_BEGUN, SILENT
from ansible_collections.muster.train.plugins.module_utils._records.run import (
    End,
    NodeReport,
    RankFailure,
    RunRecord,
    RunWarning,
)

from .._text.table import node_names, one_line
from . import causes
from .blocking_ranks import find_blocking_ranks
from .causes import Cause, Failure
from .events import disk_text, raised_text
from .transports import failure_of

DRAINING = ("stopping", "drained")
# After `succeeded`, for a script that wrote none.
NO_METRICS = ", no metrics reported"
# Hugging Face's and Accelerate's option is needed without GPUs only.
ALONE = (
    "no rank joined a process group, so each worked alone: the script has to call "
    "torch.distributed.init_process_group(). Without GPUs, Transformers does so with --use_cpu, and Accelerate with "
    "ACCELERATE_USE_CPU=1 in the environment"
)


@frozen
class Verdict:
    """How a run ended or goes on. Times are UTC (2026-11-20T14:30:52Z), elapsed_s is the seconds of its longest part.

    verdict: succeeded, failed, stopped, lost, running or waiting; partial (begun on some nodes only), prepared
    (begun on none), not_found (no node knows it) or unknown (nodes do not answer). warnings are the nodes'.
    """

    verdict: str
    node: str | None
    rank: int | None
    why: str | None
    cause: Cause | None
    log_tail: list[str]
    consequences: list[str]
    active: list[str]  # nodes where it is still active
    exit_codes: dict[str, int | None]
    started: str | None
    ended: str | None
    elapsed_s: float | None
    warnings: list[RunWarning] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dataclasses.asdict(self)


def members(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the parts that belong to the run: those of the group in node-rank order, as many as the run has nodes.

    If some nodes have all ranks, no other node has a part, even if the group's order has changed. Nor has an idle
    spare, a node whose rank a spare took, or one that knows an earlier launch of the run only.
    """
    parts = list(runs)
    newest = max((run for run in parts if run.nonce), key=lambda run: run.created or "", default=None)
    if newest is not None:
        parts = [run for run in parts if run.nonce in (None, newest.nonce)]
    parts = [run for run in parts if not is_idle_spare(run)]
    last: dict[object, tuple[int, bool]] = {}
    for run in parts:
        last[run.node_rank] = max(_precedence(run), last.get(run.node_rank, (0, False)))
    parts = [run for run in parts if run.node_rank is None or _precedence(run) == last[run.node_rank]]
    taken = [run for run in parts if has_runner(run)]
    world = max((run.world_size or 0 for run in taken), default=0)
    complete = world and sum(run.nproc or 0 for run in taken) >= world
    nnodes = max((run.nnodes or 0 for run in taken), default=0) or len(parts)
    return taken if complete else [run for rank, run in enumerate(parts) if rank < nnodes or run in taken]


def _precedence(run: RunRecord) -> tuple[int, bool]:
    """Of two nodes with one rank, the one with the later attempt has it; one that never started lost it to a spare."""
    return run.attempt or 0, bool(run.started)


def count_ranks(parts: Iterable[RunRecord]) -> int:
    """Return how many ranks a run has, whether or not their nodes answer: as planned, or as their program reports."""
    runs = list(parts)
    reported = {rank for run in runs for rank in run.ranks or ()}
    planned = sum(run.nproc or 0 for run in runs if run.ranks is None)
    if any(run.ranks is not None for run in runs):
        return len(reported) + planned
    return max([planned, *(run.world_size or 0 for run in runs)])


def has_runner(run: RunRecord) -> bool:
    """Return whether the node answered and a runner started this run there."""
    return run.phase not in (*SILENT, *NOT_BEGUN)


def is_idle_spare(run: RunRecord) -> bool:
    """Return whether a node has a runner of this run, but no ranks."""
    return bool(run.nnodes) and (run.node_rank or 0) >= (run.nnodes or 0)


def may_have(run: RunRecord, rank: int) -> bool:
    """Return whether a node has a rank, or may take it as a spare."""
    if run.ranks is not None:
        return rank in run.ranks
    if run.first_rank is None or not run.nproc or is_idle_spare(run):
        return True
    return run.first_rank <= rank < run.first_rank + run.nproc


def judge(runs: Sequence[RunRecord]) -> Verdict:
    """Return the verdict from the `run` records of all nodes, in node-rank order (`run_info` documents their keys).

    If the gang has ended the run, its verdict counts; which failure led to it is judged from the nodes' records.
    """
    parts = members(runs)
    drains = any(run.node_rank == 0 and run.phase in DRAINING and run.alive for run in parts)
    end = None if drains else _end_of(parts)
    failures = causes.ordered(parts if end is None else _with_reports(parts))
    cause_of_all = None
    if end is not None and end.verdict == "failed":
        cause_of_all = failure_of(end) or find_blocking_ranks(parts, failures)
    failures = [cause_of_all, *failures] if cause_of_all else failures
    verdict: str
    why: str | None
    if drains and failures:
        # The head may still give the ranks to a spare, or restart the run.
        why = f"{failures[0].text}; this attempt is stopping; the run will then end or restart"
        verdict, cause = "running", None
    elif end is not None:
        verdict, why, cause = _ended(end, failures)
    else:
        verdict, why, cause = _decide(parts, failures)
    consequences = [] if drains else [failure.text for failure in failures if failure is not cause]
    note = f"; {one_line(end.note)}" if end is not None and end.note and cause else ""
    consequences += [f"{run.node}: {one_line(run.why)}" for run in parts if run.phase == "succeeded" and run.why]
    active = [run for run in parts if run.phase in ACTIVE]
    full = disk_text(parts)
    doubts = [full, ALONE if any(run.alone for run in parts) else None]
    if verdict == "succeeded" and any(doubts):
        why = f"succeeded, but {'; and '.join(filter(None, doubts))}"
    elif full:
        consequences.append(full)
    if active and (raised := raised_text(warning for run in parts for warning in run.warnings)):
        consequences.append(raised)
    if verdict in ENDED:
        consequences += [f"{run.node}: still {run.phase}" for run in active]
    started = [run.started for run in parts if run.started]
    ended = [run.ended for run in parts if run.ended]
    elapsed = [run.elapsed_s for run in parts if run.elapsed_s is not None]
    return Verdict(
        verdict=verdict,
        node=cause.cause.node if cause else None,
        rank=cause.cause.rank if cause else None,
        why=f"{cause.text}{note}" if cause else why,
        cause=cause.cause if cause else None,
        log_tail=list(cause.tail) if cause else [],
        consequences=consequences,
        active=[str(run.node) for run in active],
        exit_codes={str(run.node): run.exit_code for run in parts},
        started=min(started, default=None),
        ended=max(ended) if parts and len(ended) == len(parts) else None,
        elapsed_s=round(max(elapsed), 1) if elapsed else None,
        warnings=[warning for run in parts for warning in run.warnings],
    )


def _end_of(parts: Sequence[RunRecord]) -> End | None:
    """Return how the gang ended the run, or None; a node that was cut off and continued does not speak for the gang."""
    return next((run.end for run in parts if run.end and run.end.verdict in ENDED), None)


def _ended(end: End, failures: Sequence[Failure]) -> tuple[str, str | None, Failure | None]:
    """Return (verdict, why without a cause, cause) of a run that the gang has ended."""
    verdict, likely = str(end.verdict), failures[0] if failures else None
    if likely is not None and (
        (verdict == "failed" and likely.likeness != Likeness.SILENT)
        or (verdict == "lost" and likely.likeness == Likeness.LOST)
    ):
        return verdict, None, likely
    return verdict, one_line(end.why) if end.why else None, None


def _with_reports(parts: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the parts with the head's reports of nodes that do not answer now; without those that had finished."""
    gangs = [run.gang for run in parts if run.gang]
    reports = {report.node: report for gang in gangs for report in gang.reports if report.attempt == gang.attempt}
    return [
        run if has_runner(run) else _reported(run, reports[run.node])
        for run in parts
        if has_runner(run) or run.node in reports
    ]


def _reported(run: RunRecord, report: NodeReport) -> RunRecord:
    first = None if report.rank is None else RankFailure.from_dict(report.to_dict())
    return dataclasses.replace(
        run,
        phase=report.phase,
        why=report.why,
        exit_code=report.exit_code,
        signal=report.signal,
        likeness=read_likeness(report.likeness),
        first=first,
    )


def _decide(parts: Sequence[RunRecord], failures: Sequence[Failure]) -> tuple[str, str | None, Failure | None]:
    """Return (verdict, why without a cause, cause)."""
    nodes: dict[str, list[str]] = {}
    for run in parts:
        nodes.setdefault(run.phase, []).append(str(run.node))
    # A stop reaches the nodes one after the other: ranks that lose their peers meanwhile did not fail by themselves.
    failed = [failure for failure in failures if failure.cause.node in nodes.get("failed", [])]
    followed = "stopped" in nodes and all(failure.likeness >= Likeness.UNCLEAR for failure in failed)
    if failed and not followed:
        return "failed", None, failures[0]
    if "lost" in nodes:
        return "lost", None, failures[0]
    missing = [name for phase in NOT_BEGUN for name in nodes.get(phase, [])]
    active = [name for phase in ACTIVE for name in nodes.get(phase, [])]
    if active:
        if missing and "stopped" not in nodes:
            return (
                "partial",
                f"active on {node_names(active)}, not started on {node_names(missing)}; "
                "run stop to end it and clean up",
                None,
            )
        verdict = "waiting" if set(nodes) <= {"waiting", *SILENT} else "running"
        phases = ", ".join(f"{phase} on {node_names(nodes[phase])}" for phase in nodes)
        return verdict, None if set(nodes) <= {"running"} else phases, None
    if "stopped" in nodes and not any(phase in nodes for phase in SILENT):
        reasons = (one_line(run.why) for run in parts if run.phase == "stopped" and run.why)
        return "stopped", next(reasons, None), None
    if failures:  # nodes that do not answer
        return "unknown", None, failures[0]
    if "succeeded" in nodes:
        if missing:
            return "partial", f"not started on {node_names(missing)}", None
        return "succeeded", None, None
    if "prepared" in nodes:
        return (
            "prepared",
            f"prepared on {node_names(nodes['prepared'])}, not started on any node: run stop to clean up",
            None,
        )
    return "not_found", "no node knows this run", None
