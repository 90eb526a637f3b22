# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks' and the launcher's output: pipes that the runner reads, and the logs it writes from them."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence

from ..._records.cause import with_output
from ..._records.run import RankFailure
from .. import files
from ..disk import DiskThread
from ..process_tree import PIPES
from .logs import CappedLog

PIPE_BYTES = 1 << 20
READ_BYTES = 1 << 16
# While so much waits for the storage, the pipes are not read: they fill up, and then the ranks wait.
MAX_BACKLOG_BYTES = 8 << 20


def make_pipes(run_dir: str, nproc: int) -> list[int]:
    """Make a pipe for each rank; return their descriptors, none where all output goes to the node's log."""
    folder = os.path.join(run_dir, PIPES)
    files.remove_tree(folder)
    pipes: list[int] = []
    try:
        files.make_dir(folder)
        for local_rank in range(nproc):
            path = os.path.join(folder, f"rank_{local_rank}")
            os.mkfifo(path, 0o600)
            # Read and write: the pipe never ends, so neither opening it nor a dead rank can block or wake anybody.
            pipes.append(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:  # no FIFOs on this file system
        files.remove_tree(folder)
        for pipe in pipes:
            os.close(pipe)
        return []
    return pipes


class Output:
    """One pipe per rank and one for the launcher, each with its log; plus the pipe of the launcher's report.

    Where the launcher is the rank itself (`own_rank`), there is one pipe for both. The selector calls when there is
    something to read; `watches` get lines of a rank (None: the launcher), as CappedLog says.
    """

    def __init__(
        self,
        run_dir: str,
        ranks: range,
        own_rank: int | None,
        pipes: list[int],
        log_limit: int,
        disk: DiskThread,
        selector: selectors.BaseSelector,
        watches: Mapping[int | None, tuple[Callable[[str, float], None], Sequence[bytes]]] | None = None,
    ) -> None:
        self._watches = watches or {}
        self._run_dir = run_dir
        self._log_limit = log_limit
        self._disk = disk
        self._selector = selector
        self._is_paused = False
        self._reads: dict[int, CappedLog | None] = {}
        self.report = b""
        self.heard = time.monotonic()  # when the ranks printed something last
        self.logs: dict[int | None, CappedLog] = {}
        read_end, self.launcher_end = os.pipe()
        self._watch(read_end, self._open_log(own_rank))
        read_end, self.report_end = os.pipe()
        self._watch(read_end, None)
        for rank, pipe in zip(ranks, pipes):
            self._watch(pipe, self._open_log(rank))

    def _open_log(self, rank: int | None) -> CappedLog:
        name = "node.log" if rank is None else f"rank_{rank:02d}.log"
        watch, words = self._watches.get(rank, (None, ()))
        path = os.path.join(self._run_dir, "logs", name)
        self.logs[rank] = CappedLog(path, self._log_limit, self._disk, watch, words)
        return self.logs[rank]

    def _watch(self, descriptor: int, log: CappedLog | None) -> None:
        os.set_blocking(descriptor, False)
        with contextlib.suppress(OSError):  # above the user's pipe limit: the default size does, with more wake-ups
            fcntl.fcntl(descriptor, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_BYTES)
        self._reads[descriptor] = log
        self._listen(descriptor)

    def _listen(self, descriptor: int) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, functools.partial(self._read, descriptor))

    def hand_over(self) -> None:
        """Close the ends that only the launcher needs."""
        os.close(self.launcher_end)
        os.close(self.report_end)
        self.launcher_end = self.report_end = -1

    def _read(self, descriptor: int, _events: int = 0) -> bool:
        """Move what has arrived in a pipe into its log; False when there was nothing."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        log = self._reads[descriptor]
        if not data:
            self._forget(descriptor)
        elif log is None:
            self.report += data
        else:
            self.heard = time.monotonic()
            log.feed(data, time.time())
        return bool(data)

    def _forget(self, descriptor: int) -> None:
        log = self._reads.pop(descriptor)
        if not (self._is_paused and log is not None):
            self._selector.unregister(descriptor)
        os.close(descriptor)

    def tick(self) -> None:
        """Log the progress bars that are due; read the pipes only while what waits for the storage is within bounds."""
        now = time.time()
        for opened in self.logs.values():
            opened.tick(now)
        is_paused = self._disk.backlog > (MAX_BACKLOG_BYTES // 2 if self._is_paused else MAX_BACKLOG_BYTES)
        if is_paused == self._is_paused:
            return
        self._is_paused = is_paused
        for descriptor, log in self._reads.items():
            if log is not None and is_paused:
                self._selector.unregister(descriptor)
            elif log is not None:
                self._listen(descriptor)

    def dropped(self) -> int:
        """Return how many bytes of log were lost so far."""
        return sum(log.dropped for log in self.logs.values())

    def step(self) -> int | None:
        """Return the furthest step that the logs name, None where they name none."""
        return max((log.step for log in self.logs.values() if log.step is not None), default=None)

    def tail(self, rank: int | None) -> list[str]:
        """Return the last lines of a rank (None: the launcher), kept in memory for a full disk's sake."""
        log = self.logs.get(rank)
        return list(log.tail) if log else []

    def explained(self, failure: RankFailure) -> RankFailure:
        """Return a rank's failure with what it printed of its reason, and its last lines."""
        log = self.logs.get(failure.rank)
        failure = dataclasses.replace(failure, log_tail=self.tail(failure.rank))
        return failure if log is None else with_output(failure, log.printed.raised, log.printed.warnings)

    def close(self) -> None:
        """Write everything out, close the logs and remove the pipes."""
        for end in (self.launcher_end, self.report_end):
            if end >= 0:  # there was no launcher to hand them to
                os.close(end)
        for descriptor in list(self._reads):
            while descriptor in self._reads and self._read(descriptor):
                pass
            if descriptor in self._reads:
                self._forget(descriptor)
        for log in self.logs.values():
            log.close(time.time())
        folder = os.path.join(self._run_dir, PIPES)
        self._disk.add(functools.partial(files.remove_tree, folder))
