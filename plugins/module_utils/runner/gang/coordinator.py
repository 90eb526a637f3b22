# SPDX-License-Identifier: GPL-3.0-or-later
"""The coordinator: what the head decides for all nodes of a run. Events in, orders out; no sockets, no clock.

gather: until every node has joined. run: the launchers run. drain: a node failed, was lost or was asked to stop, and
the others are being stopped. Then the next attempt, or the end. Times are seconds on one monotonic clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..._records.gang import ABSENT, DRAINED, JOINED, LOST, RUNNING
from ..._records.transport import TRANSPORT
from .end_cause import MAX_WHY_BYTES, OPTIONAL, EndCause, cause_of_failure, join_names
from .frames import short
from .ranks import RankAssignment
from .reports import Reports
from .restarts import Limits, RestartPolicy

# How long the head waits for the next node after the last one joined.
GATHER_S = 60.0

GATHER, RUN, DRAIN, OVER = "gather", "run", "drain", "over"


class Coordinator:
    """Decides for the whole gang; `take_orders` returns the resulting orders, each with the number of its node."""

    def __init__(self, names: Sequence[str], nnodes: int, limits: Limits, now: float) -> None:
        self._ranks = RankAssignment(names, nnodes)
        self.nodes = self._ranks.nodes
        self.phase = GATHER
        self.attempt = 0
        self.cause: EndCause | None = None
        self._limits = limits
        self._gather_start = self._last_join = self._attempt_start = now
        self._orders: list[tuple[int, dict[str, Any]]] = []
        self._stop_requested = False
        self._cause_at = now
        self._disconnects: list[EndCause] = []
        self._now = now
        self._reports = Reports()
        self._restarts = RestartPolicy(self._ranks, limits)
        self.final_cause: Callable[[], EndCause | None] = lambda: None  # of an end where all ranks have succeeded

    # -- events --------------------------------------------------------------------------------------------------

    def on_join(self, number: int, now: float) -> bool:
        """Add a runner; False where it may not join: a node joins once, and a lost node stays out."""
        self._now = now
        node = self.nodes[number]
        # The run does not wait for spares, so a spare may join late.
        if node.state != ABSENT or self.phase not in ((GATHER,) if node.rank is not None else (GATHER, RUN, DRAIN)):
            return False
        node.state, node.last_heard = JOINED, now
        if self.phase == GATHER:
            self._last_join = now
            self._start_if_complete()
        return True

    def on_heartbeat(self, number: int, now: float) -> None:
        self._now = now
        if self.nodes[number].state != LOST:
            self.nodes[number].last_heard = now

    def reset_silence(self, now: float) -> None:
        """Restart every node's silence timer: the head itself was paused and could not hear them."""
        for number in range(len(self.nodes)):
            self.on_heartbeat(number, now)

    def on_start(self, number: int) -> None:
        if self.nodes[number].state == JOINED:
            self.nodes[number].state = RUNNING

    def on_failure(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that a node's launcher failed; its other processes may still be exiting."""
        if self.phase not in (RUN, DRAIN):
            return
        self._reports.add(self.nodes[number], self.attempt, report)
        if self.cause is None:
            self._cause_at = now
        cause = cause_of_failure(self.nodes[number].name, report)
        likeliest = self._reports.likeliest_failure(self.attempt)
        is_open = self.cause is not None and self.cause.verdict == "failed" and self.cause.kind != TRANSPORT
        if is_open and likeliest is not None:
            self.cause = cause_of_failure(likeliest["node"], likeliest)  # by now more is known
        self._end_attempt(cause)

    def on_finding(self, cause: EndCause, now: float) -> None:
        """End an attempt for what the head has found out about it: that it hangs, or which fabric it uses."""
        self._now = now
        if self.phase == RUN:
            self._end_attempt(cause, self._limits.abort_grace)

    def on_drained(self, number: int, report: dict[str, Any], now: float) -> None:
        """Note that no process of the attempt is left on a node, and how its part ended."""
        self._now = now
        node = self.nodes[number]
        if self.phase in (RUN, DRAIN) and node.state == DRAINED and node.report and node.report.get("stalled"):
            node.report = report  # its storage has answered since, or the node has given it up
            self._conclude()
            return
        if self.phase not in (RUN, DRAIN) or node.state not in (JOINED, RUNNING):
            return
        if report.get("phase") == "failed":
            self.on_failure(number, report, now)
        elif report.get("phase") == "stopped" and self.cause is None:
            self.on_stop_request(str(report.get("why")), self._limits.abort_grace)
        node.state, node.report = DRAINED, report
        self._conclude()

    def on_stop_request(self, why: str, grace: float) -> None:
        """Stop the run, whichever node the request came from; there is no further attempt."""
        why = short(why, MAX_WHY_BYTES)
        self._stop_requested = True
        if self.phase == GATHER:
            self.cause = EndCause("stopped", why)
            self._end_run()
        elif self.phase != OVER:
            self._end_attempt(EndCause("stopped", why), grace)
            self._conclude()  # the run may have been waiting to replace a node

    def on_unanswered_stop(self, why: str) -> None:
        """End the run without waiting any longer for nodes that have been stopped."""
        self.cause = self.cause or EndCause("stopped", why)
        self._end_run()

    def on_loss(self, number: int, why: str, silent: bool = False, head_pause_s: float = 0.0) -> None:
        """Note that a node's runner cannot be reached any more: its connection closed, or it was silent too long.

        head_pause_s: seconds for which the head itself was paused just before, so that the others gave it up.
        """
        node = self.nodes[number]
        if node.state in (ABSENT, LOST) or self.phase == OVER:
            return
        previous_state, node.state = node.state, LOST
        if node.rank is None:
            return  # one spare fewer
        cause = EndCause("lost", f"{node.name}: {why}", node.name)
        if head_pause_s:
            head = self.nodes[0].name
            pause = f"its runner was paused for {head_pause_s:.0f} s; the other nodes gave it up"
            cause = EndCause("lost", f"{head}: {pause}", head)
        if self.phase == GATHER:
            if self._ranks.can_replace([node]):
                self._ranks.replace([node])
                self._start_if_complete()
                return
            if number and self._ranks.has_absent_spares():
                node.state = ABSENT  # as if it had never joined
                return
            self.cause = dataclasses.replace(cause, verdict="failed", why=f"{node.name} left before the start: {why}")
            self._end_run()
        elif previous_state == DRAINED:
            self._conclude()  # its part was already done
        elif not self._limits.lost_after:
            self._disconnects.append(dataclasses.replace(cause, why=f"{cause.why}; it continued on its own"))
            self._conclude()
        else:
            self._reports.add(node, self.attempt, {"phase": "lost", "why": why})
            failed = self.cause is not None and self.cause.verdict == "failed"
            if silent and failed and node.last_heard < self._cause_at:
                self.cause = cause  # the peers failed first because they had lost this node
            self._end_attempt(cause)
            self._conclude()

    def tick(self, now: float) -> list[int]:
        """Let time pass; return the nodes that are now lost because they were silent too long."""
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
            self.on_loss(number, f"no sign of life from its runner for {self._limits.lost_after:.0f} s", silent=True)
        return silent

    # -- decisions -----------------------------------------------------------------------------------------------

    def take_orders(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the orders issued since the last call."""
        orders, self._orders = self._orders, []
        return orders

    def summary(self) -> dict[str, Any]:
        """Return the summary of all nodes for the head's state."""
        if self.phase == OVER:
            origin = None if self.cause is None else self.cause.node
            summary = self._reports.final_summary(self._ranks.ranked_nodes(), self.attempt, origin)
        else:
            summary = self._reports.summary(self._ranks.ranked_nodes(), self.attempt)
        return {**summary, "replaced": dict(self._ranks.replaced)}

    def running_nodes(self) -> dict[int, str]:
        """Return the names of the nodes whose launchers run, by number."""
        return {number: node.name for number, node in enumerate(self.nodes) if node.state == RUNNING}

    def missing_nodes(self) -> list[str]:
        """Return the names of the nodes that have a rank and have not joined."""
        return [node.name for node in self._ranks.missing_nodes()]

    def _start_if_complete(self) -> None:
        if self._ranks.all_joined():
            self._start_attempt()

    def _check_gather_timeout(self, now: float) -> None:
        waited, timeout = now - self._last_join, GATHER_S
        if now - self._gather_start >= self._limits.join_timeout:
            waited, timeout = now - self._gather_start, self._limits.join_timeout
        if waited < timeout:
            return
        if self._ranks.can_replace(self._ranks.missing_nodes()):
            self._ranks.replace(self._ranks.missing_nodes())
            self._start_if_complete()
            return
        total = len(self._ranks.ranked_nodes())
        joined = total - len(self.missing_nodes())
        names = join_names(self.missing_nodes())
        self.cause = EndCause("failed", f"{names} did not join; {joined} of {total} nodes waited {timeout:.0f} s")
        self._end_run()

    def _start_attempt(self) -> None:
        self.phase, self._attempt_start = RUN, self._now
        for number, node in enumerate(self.nodes):
            if node.rank is not None:
                self._orders.append((number, {"type": "go", "attempt": self.attempt, "node_rank": node.rank}))

    def _end_attempt(self, cause: EndCause, grace: float | None = None) -> None:
        """Stop the attempt on all nodes; the first cause stays, a later stop request may shorten the grace period."""
        if self.cause is None:
            self.cause = cause
        elif cause.verdict != "stopped":
            return
        self.phase = DRAIN
        order = {"type": "stop", "why": cause.why, "grace": self._limits.abort_grace if grace is None else grace}
        for number, node in enumerate(self.nodes):
            # The node that failed is already exiting, and has yet to report how.
            exiting = grace is None and cause.verdict == "failed" and node.name == cause.node
            if node.rank is not None and node.state in (JOINED, RUNNING) and not exiting:
                self._orders.append((number, order))

    def _conclude(self) -> None:
        if self.phase not in (RUN, DRAIN) or not self._ranks.all_over():
            return
        cause = self.cause
        # Another attempt would use the same fabric.
        if cause is None or cause.kind == TRANSPORT or self._stop_requested or not self._limits.max_restarts:
            self._end_run()
            return
        exhausted = self._restarts.exhausted_reason(self.attempt)
        if exhausted is None and (self._now < self._restarts.earliest_restart() or self._restarts.awaits_storage()):
            return  # tick calls this again
        reason = exhausted or self._restarts.record_attempt(self._now - self._attempt_start)
        if reason is None:
            self._restart(cause)
        else:
            self.cause = dataclasses.replace(cause, why=f"{cause.why}; {reason}", note=reason)
            self._end_run()

    def _restart(self, cause: EndCause) -> None:
        self._restarts.replace_unavailable_nodes()
        self._reports.end_attempt(self.attempt, cause.verdict, cause.why, cause.node, cause.rank)
        self.attempt += 1
        self.cause = None
        for node in self._ranks.ranked_nodes():
            node.state, node.report = JOINED, None
        self._start_attempt()

    def _end_run(self) -> None:
        self.phase = OVER
        if self.cause is None and not self._disconnects:
            self.cause = self.final_cause()
        outcome = dataclasses.asdict(self.cause or next(iter(self._disconnects), EndCause("succeeded", "")))
        order = {"type": "end", **{name: value for name, value in outcome.items() if value or name not in OPTIONAL}}
        for number, node in enumerate(self.nodes):
            if node.state not in (ABSENT, LOST):
                self._orders.append((number, order))
