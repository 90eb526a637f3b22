# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher as a child: started with a death signal, its orphans adopted, its whole tree ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import threading

from .. import process_tree
from ..process import Process

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


# Loaded before any fork: another thread could hold the loader's lock then.
_LIBC = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    _LIBC.prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def wake_at_signals(selector: selectors.BaseSelector) -> None:
    """Let the selector return at once when a child ends or a signal comes, and not at the next tick."""
    read_end, write_end = os.pipe()
    for end in (read_end, write_end):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # without a handler Python does not write
    selector.register(read_end, selectors.EVENT_READ, lambda _events: os.read(read_end, 4096))


class Child:
    """The launcher process and everything that descends from it."""

    def __init__(
        self,
        argv: list[str],
        environment: dict[str, str],
        directory: str,
        output: int,
        passed: tuple[int, ...],
        aside: int | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        """Start it; aside: a session below the runner that does not belong to it."""
        self._aside = aside
        parent = os.getpid()
        most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

        def before_exec() -> None:
            # Not the runner's soft limit: the head raises its own for the members' connections.
            resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
            _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)  # the runner died before the death signal was set

        process = subprocess.Popen(
            argv,
            env=environment,
            cwd=directory,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=passed,
            start_new_session=True,
            preexec_fn=before_exec,
        )
        self.pid = process.pid
        self.code: int | None = None
        started = process_tree.look(process.pid)
        self.start_time = started.start_time if started else 0
        self._process = process

    def reap(self) -> None:
        """Collect every ended child, adopted orphans too; remember the launcher's own code."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.code = os.waitstatus_to_exitcode(status)
                self._process.returncode = self.code

    def terminate(self) -> None:
        """Ask the launcher to end; it passes the signal on to its ranks and waits for them."""
        for process in self.tree():
            if process.pid == self.pid:
                process_tree.send(process, signal.SIGTERM)

    def signal_tree(self, number: signal.Signals) -> None:
        for process in self.tree():
            process_tree.send(process, number)

    def ranks(self, seconds: float) -> list[str | None]:
        """Return the rank of each living descendant, None where it has none or its environment is not read in time.

        In a thread: a process whose storage hangs may hold the lock that a look at its environment waits for.
        """
        processes = self.tree()
        ranks: list[str | None] = [None] * len(processes)

        def read() -> None:
            for number, process in enumerate(processes):
                ranks[number] = process_tree.environment(process.pid).get("RANK")

        reader = threading.Thread(target=read, daemon=True)
        with contextlib.suppress(RuntimeError):  # this user may start no more threads
            reader.start()
            reader.join(seconds)
        return list(ranks)

    def tree(self) -> list[Process]:
        """Return every living descendant of the runner, except those aside."""
        return [process for process in process_tree.descendants(os.getpid()) if process.session != self._aside]
