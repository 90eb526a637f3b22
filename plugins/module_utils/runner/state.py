# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner's documents: `state.json` (durable, one of a few phases) and `heartbeat.json` (cheap, a counter)."""

from __future__ import annotations

import contextlib
import os
import resource
from typing import Any

from .._records.job import ENDED, Job
from .._records.run import Heartbeat, Progress
from .._text.stamps import utc
from . import files, process_tree

STATE = "state.json"
HEARTBEAT = "heartbeat.json"
# Of the job, what its state repeats.
IDENTITY = ("run_id", "nonce", "node", "node_rank", "nnodes", "nproc", "first_rank", "world_size", "label", "created")


# What an attempt that has not ended has of its end.
NOT_ENDED: dict[str, Any] = {**dict.fromkeys(("why", "exit_code", "signal", "first")), "failures": [], "log_tail": []}


def memlock() -> dict[str, int]:
    """Return the effective RLIMIT_MEMLOCK in bytes, -1 for unlimited."""
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return {"soft": soft, "hard": hard}


def identity(job: Job) -> dict[str, Any]:
    """Return the fields that identify the run and the node of a state."""
    return {name: getattr(job, name) for name in IDENTITY}


class State:
    """The state document of one run on one node; each change is written at once."""

    def __init__(self, run_dir: str, fields: dict[str, Any]) -> None:
        self._run_dir = run_dir
        me = process_tree.look(os.getpid())
        self.fields: dict[str, Any] = {
            "schema": 1,
            "attempt": 0,
            "phase": "waiting",
            "boot_id": process_tree.boot_id(),
            "pid": os.getpid(),
            "start_time": me.start_time if me else 0,
            "memlock": memlock(),
            **dict.fromkeys(("launcher", "started", "ended", "gang", "end")),
            "log_dropped": 0,
            **NOT_ENDED,
            **fields,
        }
        self._beats = 0

    @property
    def phase(self) -> str:
        return str(self.fields["phase"])

    def change(self, phase: str, **fields: Any) -> bool:
        """Move to a phase; False when it could not be written."""
        self.fields.update(fields, phase=phase)
        if phase in ENDED:
            self.fields["ended"] = utc()
        return files.write_state(self._run_dir, STATE, self.fields, last=phase in ENDED)

    def beat(self, progress: Progress | None, elapsed_s: float, log_dropped: int) -> None:
        """Write the next heartbeat; a full disk costs this beat only."""
        self._beats += 1
        document = Heartbeat(self._beats, progress, round(elapsed_s, 1), log_dropped).to_dict()
        with contextlib.suppress(OSError):
            files.write_json(os.path.join(self._run_dir, HEARTBEAT), document, durable=False)
