# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head decides for all nodes of a run: events in, orders out, no socket and no clock of its own.

gather: until every node has joined. run: every launcher was started. drain: one failed, is lost or was asked to stop,
and the others are ended. Then a new attempt, or the end. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .frames import short
from .ranks import ABSENT, DRAINED, JOINED, LOST, RUNNING, RankAssignment
from .reports import Reports
from .restarts import RestartPolicy

# So long after the last arrival the head still waits for the next.
GATHER_S = 60.0
NAMES_SHOWN = 8
# Of a reason, in bytes of JSON: an order has to fit into a frame.
MAX_WHY_BYTES = 1500

GATHER, RUN, DRAIN, OVER = "gather", "run", "drain", "over"


@dataclasses.dataclass(frozen=True)
class Limits:
    """The run's times in seconds (lost_after 0: silence is no reason to end), and how often it is started again."""

    join_timeout: float
    lost_after: float
    abort_grace: float
    max_restarts: int


@dataclasses.dataclass(frozen=True)
class Cause:
    """Why an attempt ended before all were done: verdict failed, lost or stopped; node and rank where it began.

    note is why there was no other attempt, where there could have been.
    """

    verdict: str
    why: str
    node: str | None = None
    rank: int | None = None
    note: str = ""


def join_names(names: Sequence[str]) -> str:
    """Return ``n1, n2 and 3 more``."""
    shown = list(names[:NAMES_SHOWN])
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


class Coordinator:
    """The head's decisions; `take` gives the orders they led to, each with the number of the node it is for."""

    def __init__(self, names: Sequence[str], nnodes: int, limits: Limits, now: float) -> None:
        self._ranks = RankAssignment(names, nnodes)
        self.nodes = self._ranks.nodes
        self.phase = GATHER
        self.attempt = 0
        self.cause: Cause | None = None
        self._limits = limits
        self._began = self._last_arrival = now
        self._orders: list[tuple[int, dict[str, Any]]] = []
        self._stop_requested = False
        self._cause_at = now
        self._disconnects: list[Cause] = []
        self._now = now
        self._reports = Reports()
        self._restarts = RestartPolicy(self._ranks, limits.max_restarts, limits.lost_after, limits.abort_grace)

    # -- events --------------------------------------------------------------------------------------------------

    def on_join(self, number: int, now: float) -> bool:
        """Note a runner that has come; False when it may not: a place is taken once, a lost node stays out."""
        self._now = now
        node = self.nodes[number]
        # Nobody waits for a spare, so it may come late.
        if node.state != ABSENT or self.phase not in ((GATHER,) if node.rank is not None else (GATHER, RUN, DRAIN)):
            return False
        node.state, node.last_heard = JOINED, now
        if self.phase == GATHER:
            self._last_arrival = now
            self._start_if_complete()
        return True

    def on_heartbeat(self, number: int, now: float) -> None:
        """Note a sign of life."""
        self._now = now
        if self.nodes[number].state != LOST:
            self.nodes[number].last_heard = now

    def reset_silence(self, now: float) -> None:
        """Give every node its time anew: the head itself stood still, and could not have heard them."""
        for number in range(len(self.nodes)):
            self.on_heartbeat(number, now)

    def on_start(self, number: int) -> None:
        """Note that a node's launcher runs."""
        if self.nodes[number].state == JOINED:
            self.nodes[number].state = RUNNING

    def on_failure(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that a node's launcher failed; its other processes may still be ending."""
        if self.phase not in (RUN, DRAIN):
            return
        self._reports.add(self.nodes[number], self.attempt, report)
        if self.cause is None:
            self._cause_at = now
        name = self.nodes[number].name
        cause = Cause("failed", short(f"{name}: {report.get('why')}", MAX_WHY_BYTES), name, report.get("rank"))
        if self.cause is not None and (self.cause.verdict, self.cause.node) == ("failed", name):
            self.cause = cause  # by now it knows more
        self._end_attempt(cause)

    def on_drained(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that nothing of the attempt is left on a node, and how its part ended."""
        self._now = now
        node = self.nodes[number]
        if self.phase not in (RUN, DRAIN) or node.state not in (JOINED, RUNNING):
            return
        if report.get("phase") == "failed":
            self.on_failure(number, report, now)
        elif report.get("phase") == "stopped" and self.cause is None:
            self.on_stop_request(str(report.get("why")), self._limits.abort_grace)
        node.state, node.report = DRAINED, report
        self._conclude()

    def on_stop_request(self, why: str, grace: float) -> None:
        """Note that somebody asks for the run's end, on whichever node: there is no new attempt then."""
        why = short(why, MAX_WHY_BYTES)
        self._stop_requested = True
        if self.phase == GATHER:
            self.cause = Cause("stopped", why)
            self._end_run()
        elif self.phase != OVER:
            self._end_attempt(Cause("stopped", why), grace)
            self._conclude()  # it may have waited to replace a node

    def on_loss(self, number: int, why: str, silent: bool = False, head_pause_s: float = 0.0) -> None:
        """Note that a node's runner can't be reached any more: its connection is closed, or it was silent too long.

        head_pause_s is how many seconds the head stood still just before: then the others had to go without it.
        """
        node = self.nodes[number]
        if node.state in (ABSENT, LOST) or self.phase == OVER:
            return
        before, node.state = node.state, LOST
        if node.rank is None:
            return  # a spare the less
        cause = Cause("lost", f"{node.name}: {why}", node.name)
        if head_pause_s:
            head = self.nodes[0].name
            cause = Cause(
                "lost", f"{head}: its runner stood still for {head_pause_s:.0f} s; others went without it", head
            )
        if self.phase == GATHER:
            if self._ranks.can_replace([node]):
                self._ranks.replace([node])
                self._start_if_complete()
                return
            if number and self._ranks.has_absent_spares():
                node.state = ABSENT  # as if it had not come
                return
            self.cause = dataclasses.replace(cause, verdict="failed", why=f"{node.name} left before the start: {why}")
            self._end_run()
        elif before == DRAINED:
            self._conclude()  # its part was done
        elif not self._limits.lost_after:
            self._disconnects.append(dataclasses.replace(cause, why=f"{cause.why}; it went on by itself"))
            self._conclude()
        else:
            self._reports.add(node, self.attempt, {"phase": "lost", "why": why})
            if (
                silent
                and self.cause is not None
                and self.cause.verdict == "failed"
                and node.last_heard < self._cause_at
            ):
                self.cause = cause  # what failed before was its peers, who lost it
            self._end_attempt(cause)
            self._conclude()

    def tick(self, now: float) -> list[int]:
        """Let time pass; return the nodes that are lost by their silence."""
        self._now = now
        if self.phase == GATHER:
            self._check_gather_timeout(now)
        elif self.phase == DRAIN:
            self._conclude()
        if not self._limits.lost_after or self.phase == OVER:
            return []
        silent = [
            number
            for number, node in enumerate(self.nodes)
            if number and node.state not in (ABSENT, LOST) and now - node.last_heard > self._limits.lost_after
        ]
        for number in silent:
            self.on_loss(number, f"its runner was not heard for {self._limits.lost_after:.0f} s", silent=True)
        return silent

    # -- what follows from them ----------------------------------------------------------------------------------

    def take_orders(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the orders that nobody has taken yet."""
        orders, self._orders = self._orders, []
        return orders

    def summary(self) -> dict[str, Any]:
        """Return what the head's state says of all nodes."""
        if self.phase == OVER:
            began_at = None if self.cause is None else self.cause.node
            return self._reports.final_summary(self._ranks.ranked_nodes(), self.attempt, began_at)
        return self._reports.summary(self._ranks.ranked_nodes(), self.attempt)

    def missing_nodes(self) -> list[str]:
        """Return the nodes that the run can't begin without and that have not joined."""
        return [node.name for node in self._ranks.missing_nodes()]

    def _start_if_complete(self) -> None:
        if self._ranks.all_joined():
            self._start_attempt()

    def _check_gather_timeout(self, now: float) -> None:
        waited, patience = now - self._last_arrival, GATHER_S
        if now - self._began >= self._limits.join_timeout:
            waited, patience = now - self._began, self._limits.join_timeout
        if waited < patience:
            return
        if self._ranks.can_replace(self._ranks.missing_nodes()):
            self._ranks.replace(self._ranks.missing_nodes())
            self._start_if_complete()
            return
        wanted = len(self._ranks.ranked_nodes())
        came = wanted - len(self.missing_nodes())
        self.cause = Cause(
            "failed",
            f"{join_names(self.missing_nodes())} did not join; {came} of {wanted} nodes waited {patience:.0f} s",
        )
        self._end_run()

    def _start_attempt(self) -> None:
        self.phase = RUN
        for number, node in enumerate(self.nodes):
            if node.rank is not None:
                self._orders.append((number, {"type": "go", "attempt": self.attempt, "node_rank": node.rank}))

    def _end_attempt(self, cause: Cause, grace: float | None = None) -> None:
        """End the attempt on all nodes; the first cause stays, a later request to stop may shorten the grace."""
        if self.cause is None:
            self.cause = cause
        elif cause.verdict != "stopped":
            return
        self.phase = DRAIN
        order = {"type": "stop", "why": cause.why, "grace": self._limits.abort_grace if grace is None else grace}
        for number, node in enumerate(self.nodes):
            # Whose rank failed is ending already, and has yet to tell how.
            ending = cause.verdict == "failed" and node.name == cause.node
            if node.rank is not None and node.state in (JOINED, RUNNING) and not ending:
                self._orders.append((number, order))

    def _conclude(self) -> None:
        if self.phase not in (RUN, DRAIN) or any(
            node.state not in (DRAINED, LOST) for node in self._ranks.ranked_nodes()
        ):
            return
        cause = self.cause
        if cause is None or self._stop_requested or not self._restarts.allows_restarts():
            self._end_run()
            return
        never = self._restarts.exhausted_reason(self.attempt)
        if never is None and self._now < self._restarts.earliest_restart():
            return  # tick comes back to it
        why_not = never or self._restarts.record_attempt()
        if why_not is None:
            self._restart(cause)
        else:
            self.cause = dataclasses.replace(cause, why=f"{cause.why}; {why_not}", note=why_not)
            self._end_run()

    def _restart(self, cause: Cause) -> None:
        self._restarts.replace_unavailable_nodes()
        self._reports.drop_all_but_cause(self.attempt, cause.node)
        self.attempt += 1
        self.cause = None
        for node in self._ranks.ranked_nodes():
            node.state, node.report = JOINED, None
        self._start_attempt()

    def _end_run(self) -> None:
        self.phase = OVER
        end = self.cause or next(iter(self._disconnects), Cause("succeeded", ""))
        outcome = dataclasses.asdict(end)
        if not end.note:
            del outcome["note"]
        order = {"type": "end", **outcome}
        for number, node in enumerate(self.nodes):
            if node.state not in (ABSENT, LOST):
                self._orders.append((number, order))
