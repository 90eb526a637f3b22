# SPDX-License-Identifier: GPL-3.0-or-later
"""The sampler's process, as the runner starts and ends it: a session of its own, beside the attempt."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from ..._records.job import Job
from ..._records.layout import TELEMETRY
from .. import process_tree
from ..attempt.child import Child
from ..inherited import base_environment

# In an interpreter without site: half of the time to its start, and of its memory.
CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from muster.runner.telemetry.sampler import main; main(sys.argv[2:])"
)
ERRORS = 2  # the runner's log


class Telemetry:
    """Samples this node while the attempts of a job run."""

    def __init__(self, job: Job, run_dir: str) -> None:
        self._session: int | None = None
        self._interval, self._run_dir = job.telemetry, run_dir

    def start(self) -> int | None:
        """Begin, unless it has begun or the job wants none; return the session."""
        if self._session is None and self._interval:
            archive, path = (os.path.join(self._run_dir, name) for name in ("runner.pyz", TELEMETRY))
            argv = [sys.executable, "-S", "-c", CODE, archive, path, str(self._interval)]
            environment = base_environment(dict(os.environ))
            with contextlib.suppress(OSError):  # this user may start no more processes: the ranks will say so
                self._session = Child(argv, environment, "/", ERRORS, ()).pid
        return self._session

    def end(self) -> None:
        """End it and its tools; one that hangs in the kernel is left to it."""
        for process in process_tree.descendants(os.getpid()) if self._session is not None else ():
            if process.session == self._session:
                process_tree.send(process, signal.SIGKILL)
