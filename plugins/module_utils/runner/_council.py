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

from ._frames import short
from ._reports import Reports
from ._retry import Retry
from ._seats import ABSENT, EMPTY, JOINED, LOST, RUNNING, Seats

# So long after the last arrival the head still waits for the next.
GATHER_S = 60.0
NAMED = 8
# Of a reason, in bytes of JSON: an order has to fit into a frame.
MOST_WHY = 1500

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


def some(names: Sequence[str]) -> str:
    """Return ``n1, n2 and 3 more``."""
    shown = list(names[:NAMED])
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


class Council:
    """The head's decisions; `take` gives the orders they led to, each with the number of the node it is for."""

    def __init__(self, names: Sequence[str], nnodes: int, limits: Limits, now: float) -> None:
        self._seats = Seats(names, nnodes)
        self.nodes = self._seats.nodes
        self.phase = GATHER
        self.attempt = 0
        self.cause: Cause | None = None
        self._limits = limits
        self._began = self._last_arrival = now
        self._orders: list[tuple[int, dict[str, Any]]] = []
        self._stop_asked = False
        self._cause_at = now
        self._cut: list[Cause] = []
        self._now = now
        self._reports = Reports()
        self._retry = Retry(self._seats, limits.max_restarts, limits.lost_after, limits.abort_grace)

    # -- events --------------------------------------------------------------------------------------------------

    def joined(self, number: int, now: float) -> bool:
        """Note a runner that has come; False when it may not: a place is taken once, a lost node stays out."""
        self._now = now
        node = self.nodes[number]
        # Nobody waits for a spare, so it may come late.
        if node.place != ABSENT or self.phase not in ((GATHER,) if node.rank is not None else (GATHER, RUN, DRAIN)):
            return False
        node.place, node.heard = JOINED, now
        if self.phase == GATHER:
            self._last_arrival = now
            self._go_when_all_are_here()
        return True

    def heard(self, number: int, now: float) -> None:
        """Note a sign of life."""
        self._now = now
        if self.nodes[number].place != LOST:
            self.nodes[number].heard = now

    def all_heard(self, now: float) -> None:
        """Give every node its time anew: the head itself stood still, and could not have heard them."""
        for number in range(len(self.nodes)):
            self.heard(number, now)

    def running(self, number: int) -> None:
        """Note that a node's launcher runs."""
        if self.nodes[number].place == JOINED:
            self.nodes[number].place = RUNNING

    def failed(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that a node's launcher failed; its other processes may still be ending."""
        if self.phase not in (RUN, DRAIN):
            return
        self._reports.keep(self.nodes[number], self.attempt, report)
        if self.cause is None:
            self._cause_at = now
        name = self.nodes[number].name
        cause = Cause("failed", short(f"{name}: {report.get('why')}", MOST_WHY), name, report.get("rank"))
        if self.cause is not None and (self.cause.verdict, self.cause.node) == ("failed", name):
            self.cause = cause  # by now it knows more
        self._end_attempt(cause)

    def empty(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that nothing of the attempt is left on a node, and how its part ended."""
        self._now = now
        node = self.nodes[number]
        if self.phase not in (RUN, DRAIN) or node.place not in (JOINED, RUNNING):
            return
        if report.get("phase") == "failed":
            self.failed(number, report, now)
        elif report.get("phase") == "stopped" and self.cause is None:
            self.asked_to_stop(str(report.get("why")), self._limits.abort_grace)
        node.place, node.report = EMPTY, report
        self._conclude()

    def asked_to_stop(self, why: str, grace: float) -> None:
        """Note that somebody asks for the run's end, on whichever node: there is no new attempt then."""
        why = short(why, MOST_WHY)
        self._stop_asked = True
        if self.phase == GATHER:
            self.cause = Cause("stopped", why)
            self._end()
        elif self.phase != OVER:
            self._end_attempt(Cause("stopped", why), grace)
            self._conclude()  # it may have waited to replace a node

    def gone(self, number: int, why: str, silent: bool = False, head_still: float = 0.0) -> None:
        """Note that a node's runner can't be reached any more: its connection is closed, or it was silent too long.

        head_still is how many seconds the head stood still just before: then the others had to go without it.
        """
        node = self.nodes[number]
        if node.place in (ABSENT, LOST) or self.phase == OVER:
            return
        before, node.place = node.place, LOST
        if node.rank is None:
            return  # a spare the less
        cause = Cause("lost", f"{node.name}: {why}", node.name)
        if head_still:
            head = self.nodes[0].name
            cause = Cause(
                "lost", f"{head}: its runner stood still for {head_still:.0f} s; others went without it", head
            )
        if self.phase == GATHER:
            if self._seats.can_replace([node]):
                self._seats.replace([node])
                self._go_when_all_are_here()
                return
            if number and self._seats.has_late_spares():
                node.place = ABSENT  # as if it had not come
                return
            self.cause = dataclasses.replace(cause, verdict="failed", why=f"{node.name} left before the start: {why}")
            self._end()
        elif before == EMPTY:
            self._conclude()  # its part was done
        elif not self._limits.lost_after:
            self._cut.append(dataclasses.replace(cause, why=f"{cause.why}; it went on by itself"))
            self._conclude()
        else:
            self._reports.keep(node, self.attempt, {"phase": "lost", "why": why})
            if silent and self.cause is not None and self.cause.verdict == "failed" and node.heard < self._cause_at:
                self.cause = cause  # what failed before was its peers, who lost it
            self._end_attempt(cause)
            self._conclude()

    def tick(self, now: float) -> list[int]:
        """Let time pass; return the nodes that are lost by their silence."""
        self._now = now
        if self.phase == GATHER:
            self._tire(now)
        elif self.phase == DRAIN:
            self._conclude()
        if not self._limits.lost_after or self.phase == OVER:
            return []
        silent = [
            number
            for number, node in enumerate(self.nodes)
            if number and node.place not in (ABSENT, LOST) and now - node.heard > self._limits.lost_after
        ]
        for number in silent:
            self.gone(number, f"its runner was not heard for {self._limits.lost_after:.0f} s", silent=True)
        return silent

    # -- what follows from them ----------------------------------------------------------------------------------

    def take(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the orders that nobody has taken yet."""
        orders, self._orders = self._orders, []
        return orders

    def summary(self) -> dict[str, Any]:
        """Return what the head's state says of all nodes."""
        if self.phase == OVER:
            began_at = None if self.cause is None else self.cause.node
            return self._reports.last_summary(self._seats.taken(), self.attempt, began_at)
        return self._reports.summary(self._seats.taken(), self.attempt)

    def missing(self) -> list[str]:
        """Return the nodes that the run can't begin without and that have not joined."""
        return [node.name for node in self._seats.missing()]

    def _go_when_all_are_here(self) -> None:
        if self._seats.all_here():
            self._go()

    def _tire(self, now: float) -> None:
        waited, patience = now - self._last_arrival, GATHER_S
        if now - self._began >= self._limits.join_timeout:
            waited, patience = now - self._began, self._limits.join_timeout
        if waited < patience:
            return
        if self._seats.can_replace(self._seats.missing()):
            self._seats.replace(self._seats.missing())
            self._go_when_all_are_here()
            return
        wanted = len(self._seats.taken())
        came = wanted - len(self.missing())
        self.cause = Cause(
            "failed", f"{some(self.missing())} did not join; {came} of {wanted} nodes waited {patience:.0f} s"
        )
        self._end()

    def _go(self) -> None:
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
            if node.rank is not None and node.place in (JOINED, RUNNING) and not ending:
                self._orders.append((number, order))

    def _conclude(self) -> None:
        if self.phase not in (RUN, DRAIN) or any(node.place not in (EMPTY, LOST) for node in self._seats.taken()):
            return
        cause = self.cause
        if cause is None or self._stop_asked or not self._retry.is_wanted():
            self._end()
            return
        never = self._retry.why_never(self.attempt)
        if never is None and self._now < self._retry.not_before():
            return  # tick comes back to it
        why_not = never or self._retry.why_not()
        if why_not is None:
            self._try_again(cause)
        else:
            self.cause = dataclasses.replace(cause, why=f"{cause.why}; {why_not}", note=why_not)
            self._end()

    def _try_again(self, cause: Cause) -> None:
        self._retry.replace()
        self._reports.leave_the_cause(self.attempt, cause.node)
        self.attempt += 1
        self.cause = None
        for node in self._seats.taken():
            node.place, node.report = JOINED, None
        self._go()

    def _end(self) -> None:
        self.phase = OVER
        end = self.cause or next(iter(self._cut), Cause("succeeded", ""))
        told = dataclasses.asdict(end)
        if not end.note:
            del told["note"]
        order = {"type": "end", **told}
        for number, node in enumerate(self.nodes):
            if node.place not in (ABSENT, LOST):
                self._orders.append((number, order))
