# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor: it follows the gang's orders, watches each attempt, and leaves a verdict."""

from __future__ import annotations

import math
import os
import selectors
import shutil
import signal
import time
from typing import Any

from .._records.job import Job
from .._records.run import Progress, StopRequest
from .._text.stamps import utc
from . import files, process_tree
from .attempt.attempt import Attempt
from .attempt.child import adopt_orphans, wake_at_signals
from .gang.base import Gang, end_order, report_of
from .gang.head import Head
from .gang.member import Member
from .inherited import environment_of
from .ownership import give_back
from .requests import StopRequests
from .state import NOT_ENDED, State, identity

TICK_S = 0.2
HEARTBEAT_S = 1.0
# How often files that the ranks wrote as root are given to their owner, so that a runner that is killed leaves few.
GIVE_BACK_S = 10.0
# How long one such turn may take while the run goes on: the gang must not wait for it.
GIVE_BACK_LIMIT_S = 0.5
# How much longer than the grace period a node waits for the gang's last order after a stop request.
END_S = 3.0


class Supervisor:
    """One launch of one job on this node, once it holds the locks."""

    def __init__(self, job: Job, run_dir: str, private: dict[str, Any], requests: StopRequests) -> None:
        self.job = job
        self.run_dir = run_dir
        self._private = private
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._attempt: Attempt | None = None
        self._request: StopRequest | None = None
        self._stop_deadline = math.inf
        self._started: float | None = None  # when the first attempt started
        self._next_beat = self._next_give_back = self._next_wait_report = 0.0

    def run(self) -> int:
        """Run the job to its end; every way out leaves a terminal state and no process. Return the exit code."""
        job = self.job
        files.reserve(self.run_dir)
        starter = os.environ.get("MUSTER_STARTER", "setsid")
        state = State(self.run_dir, {**identity(job), "starter": starter})
        state.change("waiting")
        request = self._requests.look()
        if request is not None and job.node_rank == 0:  # any other node still has to pass the request to the head
            end = _end_of(end_order("stopped", str(request.why)))
            self._write_last(state, "stopped", why="stopped before it started", end=end)
            return 0
        adopt_orphans()
        wake_at_signals(self._selector)
        try:
            return self._follow_gang(state)
        except Exception as error:
            # A bug, but the run must neither hang nor look lost because of it.
            for process in process_tree.descendants(os.getpid()):
                process_tree.send(process, signal.SIGKILL)
            state.change("failed", why=f"the runner itself failed: {type(error).__name__}: {error}")
            raise

    def _follow_gang(self, state: State) -> int:
        """Join the gang and follow its orders to the end; return the exit code."""
        try:
            gang = self._join()
        except OSError as error:
            endpoint = f"{self.job.rendezvous.address} port {self.job.gang.port}"
            why = f"the head cannot listen on {endpoint} for the other nodes: {error.strerror}"
            # The verdict for the whole run: the other nodes are only stopped because of this.
            state.change("failed", why=why, end=_end_of(end_order("failed", why, self.job.node)))
            return 1
        phase: str | None = None
        fields: dict[str, Any] = {}
        while True:
            order = self._next_order(state, gang)
            if order["type"] == "go":
                job = self.job.at(int(order["node_rank"]))
                phase, fields = self._run_attempt(state, gang, int(order["attempt"]), job)
            elif order["type"] == "end":
                break
        self._write_end(state, gang, phase, fields, order)
        while not gang.leave():
            self._turn(gang)
        gang.close()
        return 0 if state.phase in ("succeeded", "stopped") else 1

    def _join(self) -> Gang:
        key = str(self._private.get("key") or "").encode()
        if self.job.nnodes > 1 and not key:
            raise ValueError("a run on several nodes needs a key")
        return (Head if self.job.node_rank == 0 else Member)(self.job, key, self._selector)

    def _turn(self, gang: Gang) -> float:
        """Handle what has arrived, waiting at most one tick; return the time."""
        for key, events in self._selector.select(TICK_S):
            key.data(events)
        now = time.monotonic()
        gang.tick(now)
        return now

    def _next_order(self, state: State, gang: Gang) -> dict[str, Any]:
        while not gang.orders:
            now = self._turn(gang)
            self._report_waiting(state, gang, now)
            if not self._handle_request(gang, self._requests.look(), now) and now >= self._stop_deadline:
                return end_order("stopped", "stop requested; not all nodes have answered")
        return gang.orders.popleft()

    def _report_waiting(self, state: State, gang: Gang, now: float) -> None:
        """Write what the run waits for before its start."""
        if state.phase == "waiting" and now >= self._next_wait_report:
            self._next_wait_report = now + HEARTBEAT_S
            why = gang.waiting_reason()
            if why != state.fields["why"]:
                state.change("waiting", why=why)
        if now >= self._next_beat:
            self._beat(state)

    def _run_attempt(self, state: State, gang: Gang, number: int, job: Job) -> tuple[str, dict[str, Any]]:
        """Make one attempt with the node rank of this job; return its phase and the state's fields."""
        shutil.rmtree(os.path.join(self.run_dir, "errors"), ignore_errors=True)
        files.make_dir(os.path.join(self.run_dir, "errors"))
        places = {"attempt": number, "node_rank": job.node_rank, "first_rank": job.first_rank}
        fields: dict[str, Any] = {**places, **NOT_ENDED}
        try:
            environment = environment_of(job, self._private)
            attempt = self._attempt = Attempt(job, self.run_dir, number, environment, self._selector)
        except OSError as error:
            fields["why"] = f"cannot start {job.argv[0]} in {job.code_dir}: {error.strerror}"
            gang.report_drained(report_of("failed", fields))
            return "failed", fields
        launcher = {"pid": attempt.child.pid, "start_time": attempt.child.start_time}
        self._started = attempt.began if self._started is None else self._started
        state.change("running", started=state.fields["started"] or utc(), launcher=launcher, **fields)
        gang.report_running()
        running_written = failure_reported = False
        while not attempt.over():
            now = self._turn(gang)
            attempt.tick(now)
            self._handle_orders(state, gang, attempt, now)
            if now >= self._next_beat:
                self._beat(state)
            summary = None if running_written else gang.summary()
            if summary is not None and summary["started"] == summary["nodes"]:
                running_written = state.change(state.phase, gang=summary)
            if attempt.failed and not failure_reported:
                failure_reported = True
                gang.report_failure(_outcome(attempt)[2])
        attempt.close()
        phase, fields, report = _outcome(attempt)
        gang.report_drained(report)
        self._beat(state)
        state.change("drained", gang=gang.summary(), **fields)
        return phase, fields

    def _handle_orders(self, state: State, gang: Gang, attempt: Attempt, now: float) -> None:
        """Stop the attempt where a stop request, the time limit or the gang demands it."""
        request = self._requests.look()
        if request is None and self.job.time_limit and now - (self._started or now) >= self.job.time_limit:
            request = StopRequest(f"time limit of {self.job.time_limit} s reached")
        if self._handle_request(gang, request, now) and request is not None:
            attempt.stop(str(request.why), self._requests.grace(request))
        while gang.orders and gang.orders[0]["type"] == "stop":
            order = gang.orders.popleft()
            attempt.stop(str(order["why"]), float(order["grace"]))
        if gang.orders and attempt.why is None:  # only the end of the run can come while an attempt goes on
            attempt.stop(str(gang.orders[0].get("why")), self.job.abort_grace)
        if attempt.why is not None and state.phase == "running":
            state.change("stopping", why=attempt.why)

    def _handle_request(self, gang: Gang, request: StopRequest | None, now: float) -> bool:
        """Pass a new stop request on to the gang; return whether it was new."""
        if request is None or request == self._request:
            return False
        self._request = request
        self._stop_deadline = now + self._requests.grace(request) + END_S
        if self._requests.is_signal and self.job.is_spare and self._attempt is None:
            gang.orders.append(end_order(None, str(request.why)))  # the run does not need this spare
        else:
            gang.request_stop(str(request.why), self._requests.grace(request))
        return True

    def _write_end(
        self, state: State, gang: Gang, phase: str | None, fields: dict[str, Any], order: dict[str, Any]
    ) -> None:
        """Write the terminal state: how this node's part ended, and how the whole run ended."""
        end = _end_of(order)
        if phase is None and self.job.is_spare:
            phase, fields = "stopped", {"why": f"an unused spare: {end['why'] or 'the run has ended'}"}
        elif phase is None:  # nothing was started here
            phase = "stopped" if end["verdict"] == "stopped" else "failed"
            fields = {"why": end["why"] if phase == "failed" else f"stopped before it started: {end['why']}"}
        self._give_back()
        self._write_last(state, phase, gang=gang.summary(), end=end, **fields)

    def _write_last(self, state: State, phase: str, **fields: Any) -> None:
        state.change(phase, **fields)
        files.release_reserve(self.run_dir)
        self._requests.remove()

    def _beat(self, state: State) -> None:
        now = time.monotonic()
        self._next_beat = now + HEARTBEAT_S
        if now >= self._next_give_back:
            self._next_give_back = now + GIVE_BACK_S
            self._give_back(GIVE_BACK_LIMIT_S)
        if self._attempt is None:
            state.beat(None, 0.0, 0)
        else:
            state.beat(self._attempt.progress(), now - (self._started or now), self._attempt.output.dropped())

    def _give_back(self, seconds: float = math.inf) -> None:
        for name in ("errors", "outputs"):
            give_back(os.path.join(self.run_dir, name), seconds)


def _end_of(order: dict[str, Any]) -> dict[str, Any]:
    """Return the state's `end` from an order that ends the run: verdict, why, node, rank, and a note if it has one."""
    end = {name: order.get(name) for name in ("verdict", "why", "node", "rank")}
    return {**end, "note": order["note"]} if "note" in order else end


def _outcome(attempt: Attempt) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return how an attempt has ended or is ending: its phase, the state's fields, and the report for the gang."""
    phase, fields, stuck = attempt.verdict()
    step = (attempt.progress() or Progress()).step
    return phase, fields, report_of(phase, fields, step, attempt.has_saved(), stuck)
