# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner's main loop: take the locks, follow the gang's orders, watch each attempt, and leave a verdict."""

from __future__ import annotations

import contextlib
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
from . import files, locks, process_tree, unit
from .attempt.attempt import Attempt
from .attempt.child import adopt_orphans, wake_at_signals
from .claim import Taken
from .claim import take as take_claim
from .gang.base import Gang, report_of
from .gang.head import Head
from .gang.member import Member
from .inherited import environment_of
from .requests import StopRequests
from .state import State, identity

TICK_S = 0.2
HEARTBEAT_S = 1.0
# What ranks write as root is its owner's by then, also of a run that ends without a word.
GIVE_BACK_S = 10.0
# Of many files only some while the run goes on: the gang must not wait for it.
GIVE_BACK_AT_ONCE_S = 0.5
REFUSED = 3
# Who was asked to stop waits so much longer than the grace for the gang's last word; who asked waits a little longer.
END_S = 3.0


class Runner:
    """One launch of one job on this node, from the locks to the last word."""

    def __init__(self, job: Job, run_dir: str, private: dict[str, Any]) -> None:
        self.job = job
        self.run_dir = run_dir
        self._private = private
        self.requests = StopRequests(job, run_dir)
        self._locks: list[locks.Lock] = []
        self._selector = selectors.DefaultSelector()
        self._attempt: Attempt | None = None
        self._request: StopRequest | None = None
        self._asked_at: float | None = None
        self._began: float | None = None
        self._next_beat = self._next_give_back = self._next_told = 0.0
        self._told = ""

    # -- before the launcher -------------------------------------------------------------------------------------

    def claim(self) -> str | None:
        """Take this run's lock and its slot; return why not, None on success."""
        try:
            self._locks = take_claim(self.job, self.run_dir, lambda: self.requests.look() is not None)
        except Taken as taken:
            return str(taken)
        return None

    def refuse(self, why: str) -> int:
        """Leave without having touched the run that holds the slot; tell the module why."""
        files.write_json(os.path.join(self.run_dir, f"refused.{self.job.nonce}.json"), {"why": why})
        _remove(os.path.join(self.run_dir, f"job.{self.job.nonce}.json"))
        return REFUSED

    # -- the run -------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run the launcher to its end; every way out leaves a terminal state and no process."""
        job = self.job
        # Written once, when the locks are ours: the job of whoever holds the run.
        for name in ("job", "plan"):
            prepared = os.path.join(self.run_dir, f"{name}.{job.nonce}.json")
            if os.path.exists(prepared):  # only the head has a plan
                os.replace(prepared, os.path.join(self.run_dir, name + ".json"))
        # What an earlier launch of this run left would be read as ours.
        shutil.rmtree(os.path.join(self.run_dir, "errors"), ignore_errors=True)
        _remove(os.path.join(self.run_dir, "heartbeat.json"))
        for name in ("errors", "logs", "outputs"):
            files.make_dir(os.path.join(self.run_dir, name))
        files.reserve(self.run_dir)
        starter = os.environ.get("MUSTER_STARTER", "setsid")
        state = State(self.run_dir, {**identity(job), "starter": starter})
        state.change("waiting")
        request = self.requests.look()
        if request is not None and job.node_rank == 0:  # any other still tells the head
            end = {"verdict": "stopped", "why": request.why, "node": None, "rank": None}
            self._write_last(state, "stopped", why="stopped before it started", end=end)
            return 0
        adopt_orphans()
        wake_at_signals(self._selector)
        try:
            return self._take_part(state)
        except Exception as error:
            # Ours to mend, but the run must not hang or pass for lost because of it.
            self._end_tree()
            state.change("failed", why=f"the runner itself failed: {type(error).__name__}: {error}")
            raise

    def _take_part(self, state: State) -> int:
        """Follow the gang's orders until it ends."""
        try:
            gang = self._join()
        except OSError as error:
            place = f"{self.job.rendezvous.address} port {self.job.gang.port}"
            why = f"the head cannot listen on {place} for the other nodes: {error.strerror}"
            # The run's verdict, before whoever stops the others has one.
            end = {"verdict": "failed", "why": why, "node": self.job.node, "rank": None}
            state.change("failed", why=why, end=end)
            return 1
        phase: str | None = None
        fields: dict[str, Any] = {}
        while True:
            order = self._next_order(state, gang)
            if order["type"] == "go":
                phase, fields = self._try(state, gang, int(order["attempt"]), self.job.at(int(order["node_rank"])))
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
            raise ValueError("a run of several nodes needs a key")
        return (Head if self.job.node_rank == 0 else Member)(self.job, key, self._selector)

    def _turn(self, gang: Gang) -> float:
        """Move what can be moved, for at most a tick; return the time."""
        for key, events in self._selector.select(TICK_S):
            key.data(events)
        now = time.monotonic()
        gang.tick(now)
        return now

    def _next_order(self, state: State, gang: Gang) -> dict[str, Any]:
        """Wait for the gang's next order."""
        while not gang.orders:
            now = self._turn(gang)
            self._tell(state, gang, now)
            if not self._heed_request(gang, self.requests.look(), now) and now >= (self._asked_at or math.inf):
                return {
                    "type": "end",
                    "verdict": "stopped",
                    "why": "stop requested; not all nodes have answered",
                }
        return gang.orders.popleft()

    def _tell(self, state: State, gang: Gang, now: float) -> None:
        """Say before the start whom the run waits for."""
        if state.phase == "waiting" and now >= self._next_told:
            self._next_told = now + HEARTBEAT_S
            told = gang.waiting_reason()
            if told != self._told:
                self._told = told
                state.change("waiting", why=told)
        if now >= self._next_beat:
            self._beat(state)

    def _try(self, state: State, gang: Gang, number: int, job: Job) -> tuple[str, dict[str, Any]]:
        """Make one attempt, with the node rank that this job has; return its phase and what the state says of it."""
        shutil.rmtree(os.path.join(self.run_dir, "errors"), ignore_errors=True)
        files.make_dir(os.path.join(self.run_dir, "errors"))
        # Of the attempt before nothing is left in the state.
        fresh: dict[str, Any] = {
            "attempt": number,
            "node_rank": job.node_rank,
            "first_rank": job.first_rank,
            "why": None,
            "exit_code": None,
            "signal": None,
            "first": None,
            "failures": [],
            "log_tail": [],
        }
        try:
            attempt = self._attempt = Attempt(
                job, self.run_dir, number, environment_of(job, self._private), self._selector
            )
        except OSError as error:
            fields = {**fresh, "why": f"cannot start {job.argv[0]} in {job.code_dir}: {error.strerror}"}
            gang.report_drained(report_of("failed", fields))
            return "failed", fields
        launcher = {"pid": attempt.child.pid, "start_time": attempt.child.start_time}
        self._began = attempt.began if self._began is None else self._began  # the run's, whichever attempt it is
        state.change("running", started=state.fields["started"] or utc(), launcher=launcher, **fresh)
        gang.report_running()
        told_running = told_failed = False
        while not attempt.over():
            now = self._turn(gang)
            attempt.tick(now)
            self._heed(state, gang, attempt, now)
            if now >= self._next_beat:
                self._beat(state)
            summary = None if told_running else gang.summary()
            if summary is not None and summary["started"] == summary["nodes"]:
                told_running = state.change(state.phase, gang=summary)
            if attempt.failed and not told_failed:
                told_failed = True
                gang.report_failure(_told(attempt)[2])
        attempt.close()
        phase, fields, report = _told(attempt)
        gang.report_drained(report)
        self._beat(state)
        state.change("drained", gang=gang.summary(), **fields)
        return phase, fields

    def _heed(self, state: State, gang: Gang, attempt: Attempt, now: float) -> None:
        """End the attempt where somebody wants its end: the user, the clock, or the gang."""
        request = self.requests.look()
        if request is None and self.job.time_limit and now - (self._began or now) >= self.job.time_limit:
            request = StopRequest(f"time limit of {self.job.time_limit} s reached")
        if self._heed_request(gang, request, now) and request is not None:
            attempt.stop(str(request.why), self.requests.grace(request))
        while gang.orders and gang.orders[0]["type"] == "stop":
            order = gang.orders.popleft()
            attempt.stop(str(order["why"]), float(order["grace"]))
        if gang.orders and attempt.why is None:  # nothing but the end comes while an attempt goes on
            attempt.stop(str(gang.orders[0].get("why")), self.job.abort_grace)
        if attempt.why is not None and state.phase == "running":
            state.change("stopping", why=attempt.why)

    def _heed_request(self, gang: Gang, request: StopRequest | None, now: float) -> bool:
        """Tell the gang of a request to stop that is new; whether it is."""
        if request is None or request == self._request:
            return False
        self._request = request
        self._asked_at = now + self.requests.grace(request) + END_S
        if self.requests.is_signal and self.job.is_spare and self._attempt is None:
            # The run can do without it.
            gang.orders.append({"type": "end", "verdict": None, "why": request.why})
        else:
            gang.request_stop(str(request.why), self.requests.grace(request))
        return True

    def _write_end(
        self, state: State, gang: Gang, phase: str | None, fields: dict[str, Any], order: dict[str, Any]
    ) -> None:
        """Write the terminal state: how this node's part ended, and the whole run with it."""
        end = {name: order.get(name) for name in ("verdict", "why", "node", "rank")}
        if "note" in order:
            end["note"] = order["note"]
        if phase is None and self.job.is_spare:
            phase, fields = "stopped", {"why": f"an unused spare: {end['why'] or 'the run has ended'}"}
        elif phase is None:  # nothing was started here
            phase = "stopped" if end["verdict"] == "stopped" else "failed"
            fields = {"why": end["why"] if phase == "failed" else f"stopped before it started: {end['why']}"}
        self._give_back()
        self._write_last(state, phase, gang=gang.summary(), end=end, **fields)

    def _write_last(self, state: State, phase: str, **fields: Any) -> None:
        files.release_reserve(self.run_dir)
        state.change(phase, **fields)
        self.requests.answered()

    def _beat(self, state: State) -> None:
        now = time.monotonic()
        self._next_beat = now + HEARTBEAT_S
        if now >= self._next_give_back:
            self._next_give_back = now + GIVE_BACK_S
            self._give_back(GIVE_BACK_AT_ONCE_S)
        if self._attempt is None:
            state.beat(None, 0.0, 0)
        else:
            state.beat(self._attempt.progress(), now - (self._began or now), self._attempt.output.dropped())

    def _give_back(self, seconds: float = float("inf")) -> None:
        for name in ("errors", "outputs"):
            files.give_back(os.path.join(self.run_dir, name), seconds)

    @staticmethod
    def _end_tree() -> None:
        for process in process_tree.descendants(os.getpid()):
            process_tree.send(process, signal.SIGKILL)


def _told(attempt: Attempt) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return how an attempt has ended, or is ending: its phase, the state's fields, and the report for the gang."""
    phase, fields, stuck = attempt.verdict()
    step = (attempt.progress() or Progress()).step
    return phase, fields, report_of(phase, fields, step, attempt.has_saved(), stuck)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def main(argv: list[str]) -> int:
    """Run the job prepared under ``<run dir>`` by the launch with this nonce: ``runner.pyz RUN_DIR NONCE``.

    With the word ``ended`` after them it is the ExecStopPost of the runner's unit.
    """
    run_dir, nonce = argv[:2]
    os.umask(0o077)
    if argv[2:] == ["ended"]:
        return unit.note_end(run_dir, nonce, os.environ)
    log = files.create(os.path.join(run_dir, "runner.log"), os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):  # whoever started this, what goes wrong in the runner itself is told here
        os.dup2(log, stream)
    os.close(log)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    job = Job.from_dict(files.read_json(os.path.join(run_dir, f"job.{nonce}.json")))
    private_file = os.path.join(run_dir, f"private.{nonce}.json")
    private = files.read_json(private_file) or {}
    _remove(private_file)  # the secrets live in memory from here on
    runner = Runner(job, run_dir, private)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, runner.requests.note_signal)
    why = runner.claim()
    return runner.refuse(why) if why is not None else runner.run()
