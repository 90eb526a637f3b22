# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor: it follows the gang's orders, watches each attempt, and leaves a verdict."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

from .._records.job import Job
from .._records.likeness import Likeness
from .._records.run import Heartbeat, StopRequest
from .._text.stamps import utc
from . import files
from .attempt.attempt import Attempt
from .attempt.prepared import lay_out
from .disk import Answer
from .environment import environments_of
from .gang.base import Gang, end_order, likeness_of_end, overview_s, report_of
from .last_state import LastState
from .machine import Machine
from .outcome import end_of, judgments, outcome_of, write_judgments
from .ownership import give_back
from .requests import StopRequests
from .sign import SignMaker
from .state import NOT_ENDED, State, identity
from .telemetry.process import Telemetry
from .upkeep import Upkeep

TICK_S = 0.2
HEARTBEAT_S = 1.0
# How often files that the ranks wrote as root are given to their owner, so that a runner that is killed leaves few.
GIVE_BACK_S = 10.0
# How long one such turn may take while the run goes on: logs and heartbeats must not wait for it.
GIVE_BACK_LIMIT_S = 0.5
# How much longer than the grace period a node waits for the gang's last order after a stop request.
END_S = 3.0
# How long the gang waits for the storage of a node that has ended; its report is sent again once that answers.
DRAIN_S = 2.0


class Supervisor:
    """One launch of one job on this node, once it holds the locks."""

    def __init__(
        self, job: Job, run_dir: str, private: dict[str, Any], requests: StopRequests, upkeep: Upkeep, machine: Machine
    ) -> None:
        self.job = job
        self.run_dir = run_dir
        self._private = private
        self._requests = requests
        self._upkeep = upkeep
        self._machine = machine
        self._clock = machine.network.clock
        self._disk = machine.disk
        self._last_state = LastState(run_dir, self._disk, upkeep, requests, job.disk_wait)
        self._attempt: Attempt | None = None
        self._request: StopRequest | None = None
        self._stop_deadline = math.inf
        self._started: float | None = None  # when the first attempt started
        self._signs = SignMaker()
        self._telemetry = Telemetry(job, run_dir)
        self._next_beat = self._next_give_back = self._next_wait_report = self._next_statuses = 0.0

    def run(self) -> int:
        """Run the job to its end; every way out leaves a terminal state and no process. Return the exit code."""
        self._disk.add(functools.partial(files.reserve, self.run_dir))
        starter = os.environ.get("MUSTER_STARTER", "setsid")
        state = State(self.run_dir, {**identity(self.job), "starter": starter}, self._disk.put)
        state.change("waiting")
        request = self._requests.look()
        if request is not None and self.job.node_rank == 0:  # any other node still has to pass it to the head
            end = end_of(end_order("stopped", str(request.why)))
            self._last_state.write(state, "stopped", why="stopped before it started", end=end)
            self._last_state.wait(state)
            return 0
        self._machine.prepare()
        try:
            return self._follow_gang(state)
        except Exception as error:
            # A bug, but the run must neither hang nor look lost because of it.
            self._machine.kill_all()
            why = f"the runner itself failed: {type(error).__name__}: {error}"
            self._last_state.write(state, "failed", why=why, likeness=int(Likeness.OWN))
            self._last_state.wait(state)
            raise

    def _follow_gang(self, state: State) -> int:
        """Join the gang and follow its orders to the end; return the exit code."""
        try:
            gang = self._machine.join(self.job, str(self._private.get("key") or "").encode())
        except OSError as error:
            endpoint = f"{self.job.rendezvous.address} port {self.job.gang.port}"
            why = f"the head cannot listen on {endpoint} for the other nodes: {error.strerror}"
            # The verdict for the whole run: the other nodes are only stopped because of this.
            end = end_of(end_order("failed", why, self.job.node))
            self._last_state.write(state, "failed", why=why, likeness=int(Likeness.OWN), end=end)
            self._last_state.wait(state)
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
        written = self._write_end(state, gang, phase, fields, order)
        deadline = self._clock() + DRAIN_S
        while not written.done and self._turn(gang) < deadline:
            pass
        while not gang.leave():  # the others must not wait for this node's storage
            self._turn(gang)
        state.write_nodes(gang.statuses(self._clock()))
        self._last_state.wait(state)
        gang.close()  # not earlier: by its end the head sees that this runner has exited
        return 0 if state.phase in ("succeeded", "stopped") else 1

    def _turn(self, gang: Gang) -> float:
        """Handle what has arrived, waiting at most one tick; return the time."""
        for key, events in self._machine.selector.select(TICK_S):
            key.data(events)
        self._disk.check()
        now = self._clock()
        gang.stalled_s = int(self._disk.stalled_s(now))
        gang.tick(now)
        return now

    def _wait_until(self, gang: Gang, is_met: Callable[[], bool], seconds: float, *orders: str) -> None:
        """Take turns until a condition is met, one of these orders has come, or so many seconds have passed."""
        deadline = self._clock() + seconds
        while not is_met() and not gang.has_order(*orders):
            now = self._turn(gang)
            self._handle_request(gang, self._requests.poll(self._disk), now)
            if now >= deadline:
                return

    def _next_order(self, state: State, gang: Gang) -> dict[str, Any]:
        while not gang.orders:
            now = self._turn(gang)
            self._report_waiting(state, gang, now)
            request = self._requests.poll(self._disk)
            if not self._handle_request(gang, request, now) and now >= self._stop_deadline:
                gang.end_unanswered("stop requested; not all nodes have answered")
        return gang.orders.popleft()

    def _report_waiting(self, state: State, gang: Gang, now: float) -> None:
        """Write what the run waits for before its start."""
        if state.phase == "waiting" and now >= self._next_wait_report:
            self._next_wait_report = now + HEARTBEAT_S
            if (why := gang.waiting_reason()) != state.fields["why"]:
                state.change("waiting", why=why)
        if now >= self._next_beat:
            self._beat(state, gang)

    def _run_attempt(self, state: State, gang: Gang, number: int, job: Job) -> tuple[str, dict[str, Any]]:
        """Make one attempt with the node rank of this job; return its phase and the state's fields."""
        environment, outside = environments_of(job, self._private)
        made = self._disk.ask(functools.partial(lay_out, job, self.run_dir, outside or environment))
        self._wait_until(gang, lambda: gang.may_start, math.inf, "stop", "end")
        self._wait_until(gang, lambda: made.done, job.disk_wait, "stop", "end")
        fields = {"attempt": number, "node_rank": job.node_rank, "first_rank": job.first_rank, **NOT_ENDED}
        attempt: Attempt | None = None
        if gang.has_order("stop", "end"):
            phase, why = "stopped", f"stopped before it started: {gang.orders[0].get('why')}"
        else:
            aside = self._telemetry.start()
            try:
                attempt = self._attempt = self._machine.start_attempt(
                    job, self.run_dir, number, environment, made.result(), aside, outside
                )
            except OSError as error:
                phase, why = "failed", f"cannot start {job.argv[0]} in {job.cwd}: {error.strerror}"
        if attempt is None:
            fields.update(why=why, likeness=int(Likeness.OWN) if phase == "failed" else None)
            stuck = phase == "failed" and not made.done
            self._report_drained(state, gang, self._disk.ask(_nothing), lambda: report_of(phase, fields, stuck=stuck))
            return phase, fields
        self._started = attempt.began if self._started is None else self._started
        launcher = {"pid": attempt.child.pid, "start_time": attempt.child.start_time}
        state.change("running", started=state.fields["started"] or utc(), launcher=launcher, **fields)
        gang.report_running()
        running_written = failure_reported = False
        while not attempt.over():
            now = self._turn(gang)
            attempt.tick(now)
            self._handle_orders(state, gang, attempt, now)
            if now >= self._next_beat:
                if (look := attempt.looker.take_answer()) is not None:
                    gang.report_look(look)
                if (rank := attempt.stuck_rank()) is not None:
                    state.warn_of(rank)
                    attempt.end_stuck(rank)
                write_judgments(state, gang, now)
                self._beat(state, gang)
            if self._disk.stalled_s(now) > job.disk_wait:
                attempt.give_up(f"the storage of {self.run_dir} has not answered for {job.disk_wait} s")
            summary = None if running_written else gang.summary()
            if summary is not None and summary["started"] == summary["nodes"]:
                running_written = True
                state.change(state.phase, gang=summary)
                state.write_nodes(gang.statuses(now))
            if attempt.failed and not failure_reported:
                failure_reported = True
                gang.report_failure(outcome_of(attempt)[2])
        attempt.close()
        self._report_drained(state, gang, self._disk.ask(attempt.look_at_end), lambda: outcome_of(attempt)[2])
        phase, fields, _report = outcome_of(attempt)
        self._beat(state, gang)
        state.change("drained", gang=gang.summary(), **fields)
        return phase, fields

    def _report_drained(self, state: State, gang: Gang, answer: Answer, report: Callable[[], dict[str, Any]]) -> None:
        """Report that nothing of the attempt is left; again once the storage has answered, before which none starts."""
        self._wait_until(gang, lambda: answer.done, DRAIN_S, "end")
        end = None if self._attempt is None else self._attempt.verdict()[1]
        gang.sign = self._signs.make(state, self._attempt, self._started, self._clock(), end)
        gang.report_drained({**report(), "stalled": not answer.done})
        if not answer.done:
            self._wait_until(gang, lambda: answer.done, self.job.disk_wait, "end")
            gang.report_drained({**report(), **({} if answer.done else {"stuck": True})})

    def _handle_orders(self, state: State, gang: Gang, attempt: Attempt, now: float) -> None:
        """Stop the attempt where a stop request, the time limit or the gang demands it."""
        request = self._requests.poll(self._disk)
        # What the launcher left has its own limit.
        limit = self.job.time_limit if attempt.child.code is None and not attempt.looker.is_kept else 0
        if request is None and limit and now - (self._started or now) >= limit:
            request = StopRequest(f"time limit of {self.job.time_limit} s reached")
        if self._handle_request(gang, request, now) and request is not None:
            attempt.stop(str(request.why), self._requests.grace(request))
        while gang.orders and gang.orders[0]["type"] in ("stop", "look", "hang"):
            order = gang.orders.popleft()
            if order["type"] == "stop":
                attempt.stop(str(order["why"]), float(order["grace"]))
            else:
                attempt.looker.follow(order)
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
    ) -> Answer:
        """Write the terminal state: how this node's part ended, and how the whole run ended."""
        self._telemetry.end()
        end = end_of(order)
        if phase is None and self.job.is_spare:
            phase, fields = "stopped", {"why": f"an unused spare: {end['why'] or 'the run has ended'}"}
        elif phase is None:  # nothing was started here
            phase = "stopped" if end["verdict"] == "stopped" else "failed"
            why = end["why"] if phase == "failed" else f"stopped before it started: {end['why']}"
            fields = {"why": why, "likeness": likeness_of_end(end, self.job.node) if phase == "failed" else None}
        self._disk.add(self._give_back)
        now = self._clock()
        state.write_nodes(gang.statuses(now))
        return self._last_state.write(state, phase, gang=gang.summary(), end=end, **judgments(gang, now), **fields)

    def _beat(self, state: State, gang: Gang) -> None:
        now = self._clock()
        self._next_beat = now + HEARTBEAT_S
        self._disk.put("upkeep", self._upkeep.look)
        if now >= self._next_give_back:
            self._next_give_back = now + GIVE_BACK_S
            self._disk.put("give back", functools.partial(self._give_back, GIVE_BACK_LIMIT_S))
        attempt, stalled = self._attempt, gang.stalled_nodes()
        gang.sign = sign = self._signs.make(state, attempt, self._started, now)
        if attempt is None:
            state.beat(_nothing, Heartbeat(stalled=stalled))
        else:
            measured = (sign.elapsed_s, sign.log_dropped, stalled, sign.ranks, sign.pids, gang.pace(now))
            state.beat(attempt.look, Heartbeat(0, None, *measured, gang.raised()))
        if now >= self._next_statuses:
            self._next_statuses = now + overview_s(self.job.nnodes)
            state.write_nodes(gang.statuses(now))

    def _give_back(self, seconds: float = math.inf) -> None:
        for path in (os.path.join(self.run_dir, "errors"), self.job.output_dir):
            give_back(path, seconds, self._disk.note_answer)


def _nothing() -> None:
    """Show that the storage has made all calls before this one."""
