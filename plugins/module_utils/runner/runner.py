# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner's main loop: take the locks, start the launcher, watch it, end it, and leave a verdict."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import time
from typing import Any

from .._job_records import Job
from . import _failures, _files, _lock, _processes, _progress, _unit
from ._child import Child, adopt_orphans
from ._inherited import base_environment
from ._output import Output
from ._state import State, identity, utc

TICK_S = 0.2
HEARTBEAT_S = 1.0
# What ranks write as root is its owner's by then, also of a run that ends without a word.
GIVE_BACK_S = 10.0
REFUSED = 3
# A rank that fails takes its neighbours along; of a large node the likeliest causes tell all.
REPORTED_FAILURES = 32
# After SIGKILL only a process in uninterruptible sleep stays; it is named and left to the kernel.
UNKILLABLE_AFTER_S = 10.0


class Runner:
    """One launch of one job on this node, from the locks to the last word."""

    def __init__(self, job: Job, run_dir: str, private: dict[str, Any]) -> None:
        self.job = job
        self.run_dir = run_dir
        self._private = private
        self._stop_file = os.path.join(run_dir, "stop." + job.nonce)
        self._signal: int | None = None
        self._locks: list[_lock.Lock] = []
        self._stop_why: str | None = None
        self._kill_at: float | None = None
        self._killed_at: float | None = None
        self._killed: list[str | None] = []  # the ranks that SIGKILL ended at a stop; None: a process that is none
        self._orphans_asked = False
        self._next_beat = 0.0
        self._next_give_back = 0.0
        self._began = self._began_at = 0.0

    @property
    def _own_rank(self) -> int | None:
        """The rank that the launcher is itself, with no launcher in between; None where it starts them."""
        return self.job.first_rank if self.job.launcher == "python" else None

    # -- before the launcher -------------------------------------------------------------------------------------

    def take_locks(self) -> str | None:
        """Take this run's lock and its slot; return why not, None on success.

        The head decides a race: it fails at once, while a member waits for the loser to leave (`join_timeout`).
        """
        patience = 0 if self.job.node_rank == 0 else self.job.join_timeout
        deadline = time.monotonic() + patience
        holder = {
            "run_id": self.job.run_id,
            "nonce": self.job.nonce,
            "node": self.job.node,
            "pid": os.getpid(),
            "since": utc(),
        }
        for path in (_lock.run_path(self.run_dir), _lock.slot_path(self.job.workdir, self.job.slot)):
            lock = _lock.Lock(path)
            while not lock.acquire(holder):
                if self._asked_to_stop() is not None:
                    return f"stopped while it waited for slot '{self.job.slot}'"
                if time.monotonic() >= deadline:
                    return describe_holder(lock.holder() or {}, self.job.slot)
                time.sleep(TICK_S)
            self._locks.append(lock)
        return None

    def refuse(self, why: str) -> int:
        """Leave without having touched the run that holds the slot; tell the module why."""
        _files.write_json(os.path.join(self.run_dir, f"refused.{self.job.nonce}.json"), {"why": why})
        _remove(os.path.join(self.run_dir, f"job.{self.job.nonce}.json"))
        return REFUSED

    def _environment(self) -> dict[str, str]:
        inherited = self._private.get("environment")
        environment = base_environment(dict(os.environ)) if inherited is None else dict(inherited)
        me = pwd.getpwuid(os.getuid()) if _has_passwd() else None
        environment.setdefault("HOME", me.pw_dir if me else self.job.workdir)
        for name in ("USER", "LOGNAME"):
            environment.setdefault(name, me.pw_name if me else str(os.getuid()))
        environment.update(self._private.get("secrets") or {})
        environment.update({item.name: item.value for item in self.job.environment})
        return environment

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
            _files.make_dir(os.path.join(self.run_dir, name))
        _files.reserve(self.run_dir)
        starter = os.environ.get("MUSTER_STARTER", "setsid")
        state = State(self.run_dir, {**identity(job), "starter": starter})
        state.change("waiting")
        if self._asked_to_stop() is not None:
            state.change("stopped", why="stopped before it began")
            return 0
        adopt_orphans()
        try:
            return self._supervise(state)
        except Exception as error:
            # Ours to mend, but the run must not hang or pass for lost because of it.
            self._end_tree()
            state.change("failed", why=f"the runner itself failed: {type(error).__name__}: {error}")
            raise

    def _supervise(self, state: State) -> int:
        job = self.job
        output = Output(self.run_dir, range(job.first_rank, job.first_rank + job.nproc), self._own_rank, job.log_limit)
        environment = self._environment()
        told = () if self._own_rank is not None else (output.report_end,)
        if told:
            environment["MUSTER_REPORT_FD"] = str(output.report_end)
        try:
            child = Child(job.argv, environment, job.code_dir, output.launcher_end, told)
        except OSError as error:
            output.close()
            state.change("failed", why=f"cannot start {job.argv[0]} in {job.code_dir}: {error.strerror}")
            return 1
        output.hand_over()
        self._began, self._began_at = time.monotonic(), time.time()
        state.change(
            "running",
            started=utc(),
            launcher={"pid": child.pid, "start_time": child.start_time},
        )
        while True:
            output.pump(TICK_S)
            child.reap()
            self._tick(state, child, output)
            if child.code is not None and self._tree_is_gone(child):
                break
        return self._finish(state, child, output)

    def _tick(self, state: State, child: Child, output: Output) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + HEARTBEAT_S
            self._beat(state, output)
        if self._stop_why is None and child.code is None:
            request = self._asked_to_stop()
            if request is None and self.job.time_limit and now - self._began >= self.job.time_limit:
                request = {"why": f"time limit of {self.job.time_limit} s reached"}
            if request is not None:
                self._stop_why = str(request["why"])
                self._kill_at = now + float(request.get("grace", self.job.stop_grace))
                state.change("stopping", why=self._stop_why)
                child.terminate()
        if child.code is not None and not self._orphans_asked:
            # The launcher may have left ranks behind: ask them, then take them.
            self._orphans_asked = True
            child.signal_tree(signal.SIGTERM)
            limit = now + self.job.abort_grace
            self._kill_at = limit if self._kill_at is None else min(limit, self._kill_at)
        if self._kill_at is not None and now >= self._kill_at:
            if self._killed_at is None and child.code is None:
                self._killed = [_processes.environment(process.pid).get("RANK") for process in child.tree()]
            self._killed_at = self._killed_at or now
            child.signal_tree(signal.SIGKILL)

    def _beat(self, state: State, output: Output) -> None:
        if time.monotonic() >= self._next_give_back:
            self._next_give_back = time.monotonic() + GIVE_BACK_S
            self._give_back()
        progress = _progress.read_progress(self.job.output_dir, self._began_at)
        state.beat(progress, time.monotonic() - self._began, output.dropped())

    def _give_back(self) -> None:
        for name in ("errors", "outputs"):
            _files.give_back(os.path.join(self.run_dir, name))

    def _tree_is_gone(self, child: Child) -> bool:
        if not child.tree():
            return True
        return self._killed_at is not None and time.monotonic() - self._killed_at > UNKILLABLE_AFTER_S

    def _finish(self, state: State, child: Child, output: Output) -> int:
        job = self.job
        output.close()
        stuck = child.tree()
        code = child.code if child.code is not None else -signal.SIGKILL
        exit_code, number = _failures.split_status(code)
        fields: dict[str, Any] = {"exit_code": exit_code, "signal": number, "log_dropped": output.dropped()}
        if stuck:
            names = ", ".join(str(process.pid) for process in stuck)
            fields["why"] = f"unkillable processes stay on this node (uninterruptible sleep?): pid {names}"
            phase = "failed"
        elif self._stop_why is not None:
            ranks = [*self._killed, *_failures.killed_ranks(output.report, job.first_rank)]
            phase, fields["why"] = "stopped", _failures.explain_stop(self._stop_why, ranks)
        elif code == 0:
            phase = "succeeded"
        else:
            phase = "failed"
            failures = _failures.parse_report(output.report)[:REPORTED_FAILURES]
            if self._own_rank is not None:
                failures = [
                    _failures.describe({"rank": self._own_rank, "local_rank": 0, "code": code, "time": time.time()})
                ]
            for failure in failures:
                failure["log_tail"] = output.tail(failure["rank"])
            first = failures[0] if failures else None
            tail = (first["log_tail"] if first else []) or output.tail(None)
            why = _failures.explain(first, code, tail[-1] if tail else None)
            fields.update(first=first, failures=failures, log_tail=tail, why=why)
        self._give_back()
        self._beat(state, output)
        _files.release_reserve(self.run_dir)
        state.change(phase, **fields)
        shutil.rmtree(os.path.join(self.run_dir, "pipes"), ignore_errors=True)
        _remove(self._stop_file)
        return 0 if phase in ("succeeded", "stopped") else 1

    @staticmethod
    def _end_tree() -> None:
        for process in _processes.descendants(os.getpid()):
            _processes.send(process, signal.SIGKILL)

    # -- stop ----------------------------------------------------------------------------------------------------

    def note_signal(self, number: int, _frame: object) -> None:
        """Remember a signal sent to the runner itself (docker stop, systemctl stop): it is a request to stop."""
        self._signal = number

    def _asked_to_stop(self) -> dict[str, Any] | None:
        if self._signal is not None:
            return {"why": f"the runner got {_failures.signal_name(self._signal)}"}
        if os.path.exists(self._stop_file):
            request = _files.read_json(self._stop_file)
            return {"why": "stop was asked for", **(request if isinstance(request, dict) else {})}
        return None


def describe_holder(holder: dict[str, Any], slot: str) -> str:
    """Name who holds a slot, for whoever comes second."""
    return "slot '{}' is held by run {} (launch {}) on {} since {}".format(
        slot,
        holder.get("run_id", "?"),
        str(holder.get("nonce", "?"))[:8],
        holder.get("node", "?"),
        holder.get("since", "?"),
    )


def _has_passwd() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


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
        return _unit.note_end(run_dir, nonce, os.environ)
    log = _files.create(os.path.join(run_dir, "runner.log"), os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):  # whoever started this, what goes wrong in the runner itself is told here
        os.dup2(log, stream)
    os.close(log)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    job = Job.from_dict(_files.read_json(os.path.join(run_dir, f"job.{nonce}.json")))
    private_file = os.path.join(run_dir, f"private.{nonce}.json")
    private = _files.read_json(private_file) or {}
    _remove(private_file)  # the secrets live in memory from here on
    runner = Runner(job, run_dir, private)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, runner.note_signal)
    why = runner.take_locks()
    return runner.refuse(why) if why is not None else runner.run()
