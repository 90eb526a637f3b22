# SPDX-License-Identifier: GPL-3.0-or-later
"""One attempt on this node: the launcher from its start until the last of its processes has ended, and the outcome."""

from __future__ import annotations

import dataclasses
import math
import os
import selectors
import signal
import time
from typing import Any

from ..._records.cause import judge_launcher, judge_rank, likeliest_first, message_of
from ..._records.job import Job
from ..._records.likeness import Likeness
from ..._records.run import Progress, RankFailure
from ..._records.transport import NodeTransport
from .. import process_tree
from ..disk import DiskThread
from ..hang.look import Looker
from . import launcher_failure, launcher_report, progress
from .child import Child
from .image import guard, open_script
from .memory import KernelMemory
from .metrics.metrics import Metrics
from .output import Output
from .place import WITHOUT_TORCHRUN, place_of, report_variables
from .prepared import Prepared, checkpoint_dirs
from .stuck import find_stuck
from .workers import Workers

# A failing rank takes others with it; on a large node the likeliest causes are enough.
REPORTED_FAILURES = 32
# What torchrun may need beside the grace of the ranks that it ends.
CLOSING_S = 10.0
# How long the ranks that SIGKILL is to end may be looked for before it is sent.
RANKS_S = 1.0
# How often the kernel's count of OOM kills is read: a kill of the last one or two intervals explains a failure.
MEMORY_SAMPLE_S = 30.0


class Attempt:
    """The launcher, its ranks and their output; `stop` and `tick` advance it, `over` returns whether it has ended.

    progress and saved are what the last `look` has found: how far its ranks are, and whether they saved a checkpoint.
    """

    def __init__(
        self,
        job: Job,
        run_dir: str,
        number: int,
        environment: dict[str, str],
        prepared: Prepared,
        disk: DiskThread,
        selector: selectors.BaseSelector,
        aside: int | None = None,
        outside: dict[str, str] | None = None,
    ) -> None:
        """Start the launcher; raise OSError where it can't be started. aside: a session beside it.

        outside: the environment of Apptainer, where the launcher starts in an image. It has its own in there.
        """
        self._job = job
        self._kill_at: float | None = None
        self._killed_at: float | None = None
        # The ranks that SIGKILL ended at a stop; None: a process that is not a rank.
        self._killed: list[str | None] = []
        self.why: str | None = None  # of the stop request
        self._asked_at = math.inf  # when it came, in seconds since the epoch
        self._orphans_asked = False
        self._background_until: float | None = None
        self._background_stop: str | None = None  # why it was stopped after its launcher had ended
        self._background_end: str | None = None  # what a successful launcher left in the background, and its end
        self._given_up: str | None = None
        self._stuck: RankFailure | None = None  # the rank because of which it is given up
        self.progress: Progress | None = None
        self.saved = False
        # Those that a program which starts them itself has reported, None where the plan gives them.
        self.ranks: list[int] | None = [] if job.launcher == "exec" else None
        self.began = time.monotonic()
        self._earlier, self._nccl_logs = prepared.earlier, prepared.nccl_logs
        self._memory = KernelMemory()
        self._next_sample = self.began + MEMORY_SAMPLE_S
        self._workers = Workers() if job.launcher == "exec" else None
        self._metrics = Metrics(job, self._earlier, self._workers.feed if self._workers else None)
        pipes, watches = prepared.pipes, self._metrics.watches
        self.output = Output(run_dir, job.ranks, self._own_rank, pipes, job.log_limit, disk, selector, watches)
        passed_files = () if job.launcher in WITHOUT_TORCHRUN else (self.output.report_end,)
        environment = {**environment, **place_of(job, number), **report_variables(job, *passed_files)}
        mark = process_tree.open_mark(job.run_id, run_dir, job.nonce)
        opened = [] if mark is None else [mark]
        argv, passed = [*(guard(run_dir) if outside else ()), prepared.program, *job.argv[1:]], (*passed_files, *opened)
        try:
            script = [] if outside is None else [open_script(environment)]
            opened += script
            self.child = Child(argv, outside or environment, job.cwd, self.output.launcher_end, passed, aside, *script)
        except OSError:
            self.close()
            raise
        finally:
            for descriptor in opened:
                os.close(descriptor)
        self.looker = Looker(job, run_dir, prepared.program)
        self.output.hand_over()

    @property
    def _own_rank(self) -> int | None:
        """The rank that the launcher is itself, with no launcher in between; None where it starts them."""
        return self._job.first_rank if self._job.launcher == "python" else None

    @property
    def failed(self) -> bool:
        """Whether a rank or the launcher failed before a stop request, or the node has to be given up."""
        if self._given_up is not None:
            return True
        if self.child.code is None:
            return self.why is None and launcher_report.is_closing(self.output.report)
        return self.child.code != 0 and (self.why is None or bool(self._failures()))

    def _failures(self) -> list[RankFailure]:
        """Return the ranks that failed before a stop request, as torchrun or the program's output names them."""
        if self._workers is None:
            return launcher_report.failures(self.output.report)
        return self._workers.failures(self._job, self.ranks or [], self._asked_at)

    @property
    def pids(self) -> list[int] | None:
        """The PIDs of its ranks, in their order; None where they are not known."""
        if self._own_rank is not None:
            return [self.child.pid]
        return launcher_report.ranks_in(self.output.report, "pids") or None

    def _other_ranks(self, code: int) -> dict[str, list[int]]:
        """Return the ranks that had exited with code 0 when the launcher ended the others, and those still running."""
        if self._own_rank is not None:
            ranks = [self._own_rank]
            return {"exited_ranks": ranks * (code == 0), "running_ranks": ranks * (code != 0 and self.why is not None)}
        report = self.output.report
        return {f"{name}_ranks": launcher_report.ranks_in(report, name) for name in ("exited", "running")}

    def look(self, is_last: bool = False) -> Progress | None:
        """Read how far its ranks are, None before anything tells. Waits for the storage."""
        self.progress = self._metrics.look(is_last) or self.progress
        self.ranks = None if self.ranks is None else self._metrics.ranks()
        if self._nccl_logs is not None:
            self._nccl_logs.look(self.pids, is_last)
        return self.progress

    @property
    def transport(self) -> NodeTransport | None:
        """What NCCL's logs have shown of the fabric, None where the plan does not have that proved."""
        return None if self._nccl_logs is None else self._nccl_logs.report

    def look_at_end(self) -> None:
        """Read how far the attempt got. Waits for the storage."""
        self.look(is_last=True)
        self.saved = progress.has_saved(checkpoint_dirs(self._job), self._earlier)

    def last_step(self) -> float | None:
        """Return the last step of the metrics, or without any the furthest that the logs name."""
        metrics = self.progress
        return self.output.step() if metrics is None or metrics.step is None else metrics.step

    def stuck_rank(self) -> RankFailure | None:
        """Return the rank that has raised an exception for some time and has not ended, None where none has."""
        is_over = self.failed or self.child.code is not None or self.why is not None
        return None if is_over else find_stuck(self.output)

    def end_stuck(self, rank: RankFailure) -> None:
        """End it where a rank has not ended for too long after its exception."""
        if self._job.traceback_grace and time.time() - (rank.time or 0.0) >= self._job.traceback_grace:
            self._stuck = rank
            grace = self._job.traceback_grace
            self.give_up(f"rank {rank.rank} has not ended for {grace} s after {message_of(rank, rank.message)}")

    def give_up(self, why: str) -> None:
        """End it because this node cannot take part in a run any more."""
        if self.why is None and self.child.code is None:
            self._given_up = why
            self.stop(why, self._job.abort_grace)

    def stop(self, why: str, grace: float) -> None:
        """End it: SIGTERM to the launcher, SIGKILL to all after the grace; a second stop may only shorten that."""
        limit = time.monotonic() + grace
        self._kill_at = limit if self._kill_at is None else min(limit, self._kill_at)
        if self.child.code is not None:
            self._background_stop = self._background_stop or why
        elif self.why is None:
            self.why, self._asked_at = why, time.time()
            self.child.terminate()

    def tick(self, now: float) -> None:
        """Let time pass: collect what ended, kill what had its grace."""
        self.output.tick()
        self.child.reap()
        if now >= self._next_sample and not self.failed:
            self._next_sample = now + MEMORY_SAMPLE_S
            self._memory.sample()  # here: no storage is needed, and one that hangs would keep an old kill in the window
        if self.child.code is None and self._kill_at is None and self.failed:
            self._kill_at = now + 2 * self._job.abort_grace + CLOSING_S  # it ends by itself, unless it hangs
        if self.child.code is not None and not self._orphans_asked and not self._waits_for_background(now):
            # The launcher may have left ranks behind: ask them, then take them.
            self._orphans_asked = True
            if self.child.code == 0 and self.why is None:
                self._background_end = self._explain_background_end()
            self.child.signal_tree(signal.SIGTERM)
            limit = now + self._job.abort_grace
            self._kill_at = limit if self._kill_at is None else min(limit, self._kill_at)
        if self._kill_at is not None and now >= self._kill_at:
            if self._killed_at is None and self.child.code is None:
                self._killed = self.child.ranks(RANKS_S)
            self._killed_at = self._killed_at or now
            self.child.signal_tree(signal.SIGKILL)

    def _waits_for_background(self, now: float) -> bool:
        """Return whether a launcher that succeeded has left processes that still have time: an upload, a checkpoint."""
        if self.child.code != 0 or self._kill_at is not None:
            return False
        if self._background_until is None:
            self._background_until = now + self._job.background_wait
        return now < self._background_until and bool(self.child.tree())

    def _explain_background_end(self) -> str | None:
        """Return what is left of a launcher that succeeded, and why it is ended now; None where nothing is left."""
        names = ", ".join(f"{process_tree.command(left.pid)} (PID {left.pid})" for left in self.child.tree())
        stop = self._background_stop
        how = f"after {self._job.background_wait} s" if stop is None else f"by a stop ({stop})"
        return f"ended in the background {how}: {names}" if names else None

    def over(self) -> bool:
        """Return whether no process is left that can be ended."""
        if self.child.code is None and self._killed_at is None:
            return False
        if not self.child.tree():
            return self.child.code is not None
        return self._killed_at is not None and time.monotonic() - self._killed_at > process_tree.UNKILLABLE_AFTER_S

    def close(self) -> None:
        """Write all output out, once nothing of the attempt is left."""
        self.output.close()
        self._metrics.close(time.time())
        self._memory.close()

    def verdict(self) -> tuple[str, dict[str, Any], bool]:
        """Return (phase, fields of the state, whether processes stay) of what it is now."""
        if self._given_up is not None:
            given_up: dict[str, Any] = {
                "why": self._given_up,
                "likeness": int(Likeness.OWN),
                "log_dropped": self.output.dropped(),
            }
            if self._stuck is not None:
                record = self._stuck.to_dict()
                given_up.update(first=record, failures=[record], likeness=self._stuck.likeness)
            return "failed", given_up, self._stuck is None
        if self.child.code is None and self._killed_at is None:
            return "failed", {"why": "a rank failed; torchrun is stopping the node's other ranks"}, False
        code = self.child.code if self.child.code is not None else -signal.SIGKILL
        exit_code, number = launcher_failure.split_status(code)
        fields: dict[str, Any] = {"exit_code": exit_code, "signal": number, "log_dropped": self.output.dropped()}
        fields.update(ranks=self.ranks, **self._other_ranks(code))
        stuck = self.child.tree() if self._killed_at is not None else []
        if stuck:
            names = ", ".join(str(process.pid) for process in stuck)
            why = f"unkillable processes remain on this node (uninterruptible sleep?): PID {names}"
            fields.update(why=why, likeness=int(Likeness.UNCLEAR))
            return "failed", fields, True
        failures = self._failures()
        # torchrun names failures only if it saw them before it was asked to end.
        if self.why is not None and not failures:
            ranks = [*self._killed, *launcher_report.killed_ranks(self.output.report, self._job.first_rank)]
            fields["why"] = launcher_failure.explain_stop(self.why, ranks)
            return "stopped", fields, False
        if code == 0:
            fields["alone"] = launcher_report.is_alone(self.output.report)
            return "succeeded", {**fields, "why": self._background_end}, False
        if self._own_rank is not None:
            record = {"rank": self._own_rank, "local_rank": 0, "code": code, "time": time.time()}
            failures = [launcher_failure.describe(record)]
        if self._workers is None:
            failures = [self.output.explained(failure) for failure in failures]
        memory = self._memory.explain()
        if memory is not None:
            failures = launcher_failure.blame_memory(failures, self._memory.kills(), memory)
        failures = likeliest_first(judge_rank(failure, failures) for failure in failures)[:REPORTED_FAILURES]
        if memory is not None and failures and not any(failure.oom_killed for failure in failures):
            # A process that a rank had started, such as a data loader's worker.
            failures[0] = dataclasses.replace(failures[0], oom_detail=memory)
        first = failures[0] if failures else None
        tail = (first.log_tail if first else []) or self.output.tail(None)
        why = launcher_failure.explain(first, code, tail)
        if memory is not None and first is None:
            why = f"{why}: {memory}"
        records = [failure.to_dict() for failure in failures]
        likeness = int(judge_launcher(tail)) if first is None else first.likeness
        first_record = records[0] if records else None
        fields.update(first=first_record, failures=records, log_tail=tail, why=why, likeness=likeness)
        return "failed", fields, False
