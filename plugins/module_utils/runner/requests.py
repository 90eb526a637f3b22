# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to stop a run on this node: a file beside its state, or a signal to the runner itself."""

from __future__ import annotations

import contextlib
import math
import os
import time

from .._records.job import Job
from .._records.run import StopRequest
from . import files
from .disk import DiskThread
from .process_tree import signal_name

# How often the file is looked for.
LOOK_S = 0.2
# How long before SIGKILL the ranks have to be gone.
BEFORE_KILL_S = 5


class StopRequests:
    """The stop requests so far; a signal (docker stop, systemctl stop) is a request like any other."""

    def __init__(self, job: Job, run_dir: str) -> None:
        self._node = job.node
        self._default_grace = job.stop_grace
        self._slurm = job.slurm
        self._file = os.path.join(run_dir, "stop." + job.nonce)
        self._signal: int | None = None
        self._request: StopRequest | None = None
        self._next_look = 0.0

    def note_signal(self, number: int, _frame: object) -> None:
        self._signal = number

    @property
    def is_signal(self) -> bool:
        """Whether the request is a signal to the runner itself."""
        return self._signal is not None

    def look(self) -> StopRequest | None:
        """Look for a stop request and return it, if any; without a grace period the job's own applies."""
        if self._signal is not None:
            return self._of_signal(signal_name(self._signal))
        if not os.path.exists(self._file):
            return None
        # An empty file is a request too.
        request = StopRequest.from_dict(files.read_json(self._file))
        grace = request.grace if request.grace is not None and 0 <= request.grace < math.inf else None
        self._request = StopRequest(request.why or "stop requested", grace)
        return self._request

    def _of_signal(self, name: str) -> StopRequest:
        """Return the request that a signal is; the verdict must be written before Slurm kills the runner."""
        if self._slurm is None:
            return StopRequest(f"{self._node}: the runner received {name}")
        why = f"Slurm ended its job {self._slurm.job} with {name}: scancel, preemption, or the end of the time limit"
        if not self._slurm.kill_wait:
            return StopRequest(why)
        return StopRequest(why, max(1, min(self._default_grace, self._slurm.kill_wait - BEFORE_KILL_S)))

    def poll(self, disk: DiskThread) -> StopRequest | None:
        """Return what the last look has shown, without waiting for the storage."""
        if self._signal is not None:
            return self.look()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            disk.put(self._file, self.look)
        return self._request

    def grace(self, request: StopRequest) -> float:
        """Return the seconds from SIGTERM to SIGKILL."""
        return float(self._default_grace if request.grace is None else request.grace)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._file)
