# SPDX-License-Identifier: GPL-3.0-or-later
"""The gang as a runner sees it, on the head as on any other node: it reports on its part and takes orders."""

from __future__ import annotations

import collections
import math
from typing import Any

from ..._records.gang import NodeSign
from ..._records.hang import Hang, NodeLook
from ..._records.job import Job
from ..._records.likeness import Likeness
from ..._records.run import Pace, RunWarning, StalledNode
from ..._records.transport import TransportVerdict
from .frames import short

# The longest heartbeat interval in seconds, and how many may be missed before a node is lost; slower in large gangs.
BEATS, LARGE_BEATS, LARGE = (1.0, 5), (2.0, 3), 256
# How often, in seconds, the head judges and writes what it knows of all nodes; less often in large gangs.
OVERVIEW_S, LARGE_OVERVIEW_S = 2.0, 5.0
# A storage that does not answer for so many seconds is reported.
STALLED_S = 5
# How long the head waits for the members' goodbye: a connection that is closed too early may lose the last order.
GOODBYE_S = 10.0
# Limits of a report, in bytes of JSON: a frame holds 4 KiB.
MAX_WHY_BYTES = 900
MAX_TRACEBACK_BYTES = 1500
MAX_EXCEPTION_BYTES, MAX_MESSAGE_BYTES, MAX_OOM_BYTES = 80, 400, 300


class Gang:
    """The orders for this node: ``go`` {attempt}, ``stop`` {why, grace}, ``end`` {verdict, why, node, rank}.

    And while an attempt goes on ``look`` at its ranks, and ``hang`` {name, keep}: save the look under this name, if
    there is one, and keep the attempt beyond the time limit or not.
    """

    def __init__(self) -> None:
        self.orders: collections.deque[dict[str, Any]] = collections.deque()
        self.stalled_s = 0  # for how long the storage of this node has not answered
        self.sign: NodeSign | None = None  # what the next sign of life says of this node

    def has_order(self, *kinds: str) -> bool:
        """Return whether an order of one of these kinds waits."""
        return any(order["type"] in kinds for order in self.orders)

    @property
    def may_start(self) -> bool:
        """Return whether an order to start may be obeyed: not before the head has shown that it still holds."""
        return True

    def tick(self, now: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    def report_running(self) -> None:
        raise NotImplementedError

    def report_failure(self, report: dict[str, Any]) -> None:
        """Report that this node's launcher failed, while its other processes are still exiting."""
        raise NotImplementedError

    def report_drained(self, report: dict[str, Any]) -> None:
        """Report that no process of the attempt is left on this node, and how it ended."""
        raise NotImplementedError

    def request_stop(self, why: str, grace: float) -> None:
        raise NotImplementedError

    def end_unanswered(self, why: str) -> None:
        """End the run, as far as it depends on this node, although a stop request was not answered in time."""
        raise NotImplementedError

    def waiting_reason(self) -> str:
        """Return in one line what this node waits for before the start."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any] | None:
        """Return what the head knows about all nodes, None on any other node."""
        return None

    def stalled_nodes(self) -> list[StalledNode]:
        """Return what the head knows of nodes whose storage does not answer, on any other node of itself nothing."""
        return []

    def raised(self) -> list[RunWarning]:
        """Return what the head knows of ranks that raised an exception and have not ended, nothing on other nodes."""
        return []

    def statuses(self, now: float) -> list[dict[str, Any]] | None:
        """Return what the head knows of each node now, None on any other node."""
        return None

    def pace(self, now: float) -> Pace | None:
        """Return how the nodes move, as the head sees it; None on any other node."""
        return None

    def report_look(self, look: NodeLook) -> None:
        """Report what a look at the ranks of this node has shown."""
        raise NotImplementedError

    def hang(self, now: float) -> Hang | None:
        """Return where the ranks of a run are that makes no step, as the head sees it; None on any other node."""
        return None

    def transport(self, now: float) -> TransportVerdict | None:
        """Return which fabric the ranks of a run use, as the head sees it; None on any other node."""
        return None

    def leave(self) -> bool:
        """Say goodbye; return False while it still has to wait for another runner."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def launch_identity(job: Job) -> str:
    """Return what the proofs are bound to: this launch, not only its run."""
    return f"{job.run_id} {job.nonce}"


def heartbeat_s(nnodes: int, lost_after: float) -> float:
    interval, beats = BEATS if nnodes <= LARGE else LARGE_BEATS
    return min(interval, lost_after / beats) if lost_after else interval


def overview_s(nnodes: int) -> float:
    return OVERVIEW_S if nnodes <= LARGE else LARGE_OVERVIEW_S


def is_pause(seconds: float, lost_after: float) -> bool:
    """Return whether a runner stood still for so long that it can't judge the silence of others."""
    return bool(lost_after) and seconds >= lost_after / 2


def end_order(verdict: str | None, why: str, node: str | None = None) -> dict[str, Any]:
    """Return the order that ends a run; verdict None: this node does not know how the run ended."""
    return {"type": "end", "verdict": verdict, "why": why, "node": node, "rank": None}


def likeness_of_end(end: dict[str, Any], node: str) -> int:
    """Return how much a node where nothing was started looks like the cause of an end that may name another node."""
    return int(Likeness.OWN if end["verdict"] == "failed" and end["node"] in (None, node) else Likeness.UNCLEAR)


def report_of(
    phase: str,
    fields: dict[str, Any],
    step: object = None,
    saved: bool = False,
    stuck: bool = False,
    stalled: bool = False,
) -> dict[str, Any]:
    """Return how a node's part ended, small enough for one frame, with the essentials of the first failing rank.

    likeness is that of the rank, else the launcher's. step: the last one; saved: whether the attempt wrote a
    checkpoint; stuck: whether this node cannot take part in another attempt; stalled: whether its storage does not
    answer, so that step and saved may still change.
    """
    first = fields.get("first") or {}
    # The end of a traceback says most.
    traceback = short("\n".join(first.get("traceback") or [])[::-1], MAX_TRACEBACK_BYTES)[::-1]
    return {
        "phase": phase,
        "why": short(str(fields.get("why") or ""), MAX_WHY_BYTES),
        "exit_code": fields.get("exit_code"),
        "signal": first.get("signal") or fields.get("signal"),
        "rank": first.get("rank"),
        "exception": short(str(first["exception"]), MAX_EXCEPTION_BYTES) if first.get("exception") else None,
        "message": short(str(first["message"]), MAX_MESSAGE_BYTES) if first.get("message") else None,
        "likeness": fields.get("likeness"),
        "oom_killed": bool(first.get("oom_killed")),
        "oom_detail": short(str(first["oom_detail"]), MAX_OOM_BYTES) if first.get("oom_detail") else None,
        "time": first.get("time"),
        "traceback": traceback.splitlines(),
        "step": int(step) if isinstance(step, (int, float)) and math.isfinite(step) else None,
        "saved": saved,
        "stuck": stuck,
        "stalled": stalled,
    }
