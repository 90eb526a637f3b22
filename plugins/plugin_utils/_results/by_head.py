# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's part of a run as the head knows it, so that one node is asked and not all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.cause import likeliest_first
from ansible_collections.muster.train.plugins.module_utils._records.document import as_phase
from ansible_collections.muster.train.plugins.module_utils._records.gang import (
    ABSENT,
    DRAINED,
    EXITED,
    JOINED,
    LOST,
    NodeSign,
    NodeStatus,
)
from ansible_collections.muster.train.plugins.module_utils._records.phases import ACTIVE, ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import NodeReport, RankFailure, RunRecord

from .._cluster.starter import kind_of

# A node, or the head's own storage, that was silent for so long is not described by the head any more.
SILENT_AFTER_S = 15.0
# Failed nodes that are asked for their logs; what the head has in its reports says enough of the others.
MOST_FAILED = 8


def speaks(head: RunRecord) -> bool:
    """Return whether a record is that of a head that knows the other nodes: it is alive, or has ended the run."""
    if head.node_rank != 0:
        return False
    if head.phase in ACTIVE:
        return head.alive
    return head.phase in ENDED and head.end is not None and head.end.verdict in ENDED


def speak(head: RunRecord, status: NodeStatus) -> RunRecord | None:
    """Return the record of a node as the head gives it; None where only the node itself can be asked."""
    if not speaks(head) or status.state in (ABSENT, LOST) or status.node == head.node:
        return None
    sign = status.sign or NodeSign()
    if head.phase in ACTIVE:
        if status.state == EXITED or status.heard_s is None or status.heard_s > SILENT_AFTER_S:
            return None
        phase = _active_phase(status, sign)
        why = sign.why if sign.phase == phase else None  # else the sign is older than the phase
    elif status.node_rank is None:
        phase, why = "stopped", "an unused spare: the run has ended"
    else:
        phase, why = as_phase(status.phase), status.why or None
        if phase not in ENDED:
            return None
    report = _report(head, status) if phase == "failed" else None
    active = phase in ACTIVE
    return place(
        RunRecord(
            run_id=head.run_id,
            node=status.node,
            phase=phase,
            why=why,
            alive=active,
            elapsed_s=sign.elapsed_s,
            progress=sign.progress,
            heartbeat_age_s=float(max(status.stalled_s, status.heard_s or 0.0)) if active else None,
            log_dropped=sign.log_dropped,
            ranks=sign.ranks,
            pids=sign.pids if active else None,
            exited_ranks=sign.exited_ranks,
            running_ranks=sign.running_ranks,
            created=head.created,
            started=head.started if sign.elapsed_s is not None else None,
            ended=None if active else status.ended or head.ended,
            exit_code=status.exit_code,
            signal=status.signal,
            likeness=report.likeness if report else None,
            first=RankFailure.from_dict(report.to_dict()) if report and report.rank is not None else None,
            starter=sign.starter,
            memlock=sign.memlock,
            attempt=sign.attempt,
            warnings=sign.warnings,
        ),
        head,
        status,
    )


def _active_phase(status: NodeStatus, sign: NodeSign) -> str:
    """Return the phase of a node of a run that goes on; a sign may be older than what the head knows."""
    if status.state in (DRAINED, JOINED):
        return "drained" if status.state == DRAINED else "waiting"
    return sign.phase if sign.phase in ("running", "stopping") else "running"


def _report(head: RunRecord, status: NodeStatus) -> NodeReport | None:
    reports = head.gang.reports if head.gang else []
    return next((report for report in reversed(reports) if report.node == status.node), None)


def place(run: RunRecord, head: RunRecord, status: NodeStatus) -> RunRecord:
    """Return a node's record with the launch and the ranks that it has by the head, unless it has its own."""
    if run.nproc is not None:
        return run
    node_rank = status.number if status.node_rank is None else status.node_rank
    first_rank = None if node_rank is None or head.nproc is None else node_rank * head.nproc
    places = {name: getattr(head, name) for name in ("nonce", "label", "world_size", "nnodes", "nproc")}
    return dataclasses.replace(run, **places, node_rank=node_rank, first_rank=first_rank)


def unknown_nodes(head: RunRecord, statuses: Sequence[NodeStatus]) -> list[str]:
    """Return the nodes of a run to ask: those that the head cannot describe, and failed ones for their logs."""
    records = {str(status.node): speak(head, status) for status in statuses if status.node != head.node}
    silent = [node for node, run in records.items() if run is None]
    failed = {node for node, run in records.items() if run is not None and run.phase == "failed"}
    return [*silent, *_likeliest(head, failed)[:MOST_FAILED]]


def unfinished_nodes(head: RunRecord, statuses: Sequence[NodeStatus], nodes: Iterable[str]) -> list[str]:
    """Return the nodes on which a stop still has something to look for, or that failed and have logs to show.

    Only of a node whose runner has reported that no process is left, and has exited, nothing more is to be shown. A
    container stays until it is removed, and a node that the head does not know may have an earlier launch.
    """
    exited = {status.node for status in statuses if status.state == EXITED and not status.stuck}
    if not speaks(head) or head.phase in ACTIVE or kind_of(head.starter).keeps_container:
        exited = set()
    shown = set(unknown_nodes(head, statuses)) if exited else set()
    return [node for node in nodes if node != head.node and (node not in exited or node in shown)]


def _likeliest(head: RunRecord, failed: set[str]) -> list[str]:
    """Return failed nodes, those first where the failure most likely began."""
    reports: list[Any] = [report for report in (head.gang.reports if head.gang else []) if report.node in failed]
    reports = [*(report for report in reports if report.cause), *likeliest_first(r for r in reports if not r.cause)]
    names = list(dict.fromkeys(str(report.node) for report in reports))
    return [*names, *sorted(failed - set(names))]
