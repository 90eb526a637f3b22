# SPDX-License-Identifier: GPL-3.0-or-later
"""The upkeep of a living run's files, which a cleaner of /tmp or of a scratch directory may mistake for old ones.

Its directories are locked, which systemd-tmpfiles respects; its files are kept fresh, for cleaners that go by age; and
what is removed all the same is made again: the locks first, as they are how others know that the run is alive.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import time
from collections.abc import Callable, Iterator

from .._records import layout
from .._records.job import Job
from .._records.layout import HEARTBEAT, NODES, SITE
from . import files
from .locks import Lock
from .optional import optional

# Sites remove what is older than a day at the earliest.
FRESH_S = 3600.0
# What the runner does not write itself, and a run needs to be known, stopped and started again.
KEPT = ("job.json", "plan.json", "runner.pyz", "torchrun.py", SITE)
FOLDERS = ("errors", "logs", "outputs")


class Upkeep:
    """Looks after the files of one run."""

    def __init__(self, job: Job, run_dir: str, locks: list[Lock]) -> None:
        self._run_dir = run_dir
        self._workdir = job.workdir
        self._locks = locks
        above = (*layout.parents(job.workdir, job.node), layout.slots_dir(job.workdir, job.node))
        self._directories = (*above, os.path.dirname(run_dir), run_dir)
        self._descriptors: dict[str, int] = {}
        self._known: dict[str, tuple[int, bytes]] = {}  # by path: modified (ns), content
        self._next_fresh = 0.0

    @optional("keeping the files of the run")
    def look(self) -> None:
        """Make again what was removed; once an hour, set the time of all files to now."""
        broken: list[str] = []
        for path, keep in self._steps():
            # Nothing is written below a directory that could not be kept: it may be a link.
            if not any(path.startswith(os.path.join(directory, "")) for directory in broken):
                try:
                    keep(path)
                except OSError:  # the next look tries again
                    broken.append(path)
        if time.monotonic() >= self._next_fresh:
            self._next_fresh = time.monotonic() + FRESH_S
            self._freshen()

    def _steps(self) -> Iterator[tuple[str, Callable[[str], None]]]:
        """Return what to keep, directories before what is in them."""
        if os.geteuid() != 0:  # where root may run, the launch checks
            yield self._workdir, files.make_dir
        for directory in self._directories:
            yield directory, self._keep_directory
        for lock in self._locks:
            yield lock.path, functools.partial(_restore, lock)
        for name in FOLDERS:
            yield os.path.join(self._run_dir, name), files.make_dir
        for name in KEPT:
            yield os.path.join(self._run_dir, name), self._keep_file

    def _keep_directory(self, path: str) -> None:
        held = self._descriptors.get(path)
        if held is not None and files.is_at(held, path):
            return
        files.make_dir(path)
        descriptor = self._descriptors[path] = os.open(path, files.DIRECTORY)
        if held is not None:
            with contextlib.suppress(OSError):  # closed all the same
                os.close(held)
        with contextlib.suppress(OSError):  # not every file system locks directories
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def _keep_file(self, path: str) -> None:
        known = self._known.get(path)
        try:
            modified = os.stat(path, follow_symlinks=False).st_mtime_ns
            if known is None or known[0] != modified:
                with files.open_regular(path) as stream:
                    self._known[path] = modified, stream.read()
        except FileNotFoundError:
            if known is not None:
                files.write_atomic(path, known[1])

    def _freshen(self) -> None:
        paths = [*self._directories, *(lock.path for lock in self._locks)]
        with contextlib.suppress(OSError):
            names = set(os.listdir(self._run_dir)) - {HEARTBEAT, NODES}  # whose times tell that the runner's loop turns
            paths += (os.path.join(self._run_dir, name) for name in names)
        for path in paths:
            with contextlib.suppress(OSError):
                os.utime(path, follow_symlinks=False)


def _restore(lock: Lock, _path: str) -> None:
    lock.restore()
