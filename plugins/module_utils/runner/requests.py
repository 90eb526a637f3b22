# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to stop a run on this node: a file beside its state, or a signal to the runner itself."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .._records.job import Job
from . import files
from .attempt import launcher_failure


class StopRequests:
    """What has been asked so far; a signal (docker stop, systemctl stop) is a request like any other."""

    def __init__(self, job: Job, run_dir: str) -> None:
        self._node = job.node
        self._usual_grace = job.stop_grace
        self._file = os.path.join(run_dir, "stop." + job.nonce)
        self._signal: int | None = None

    def note_signal(self, number: int, _frame: object) -> None:
        """Remember a signal sent to the runner."""
        self._signal = number

    @property
    def is_signal(self) -> bool:
        """Whether the runner itself was told to end."""
        return self._signal is not None

    def look(self) -> dict[str, Any] | None:
        """Return what is asked for: why, and the grace in seconds if another than the job's; None for nothing."""
        if self._signal is not None:
            return {"why": f"{self._node}: the runner got {launcher_failure.signal_name(self._signal)}"}
        if os.path.exists(self._file):
            request = files.read_json(self._file)
            return {"why": "stop was asked for", **(request if isinstance(request, dict) else {})}
        return None

    def grace(self, request: dict[str, Any]) -> float:
        """Return the seconds from SIGTERM to SIGKILL."""
        return float(request.get("grace", self._usual_grace))

    def answered(self) -> None:
        """Take the file away, once the run has ended."""
        with contextlib.suppress(OSError):
            os.unlink(self._file)
