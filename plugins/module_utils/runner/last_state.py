# SPDX-License-Identifier: GPL-3.0-or-later
"""The last state of a run: written after all else, and again while the storage refuses it."""

from __future__ import annotations

import functools
import time
from typing import Any

from . import files
from .disk import Answer, DiskThread
from .requests import StopRequests
from .state import State
from .upkeep import Upkeep

# How often it is tried again, and for how long where a stop is requested.
RETRY_S = 0.25
RETRY_STOPPED_S = 1.0


class LastState:
    """Writes the terminal state of one launch, and waits for it at most `patience` seconds."""

    def __init__(self, run_dir: str, disk: DiskThread, upkeep: Upkeep, requests: StopRequests, patience: float) -> None:
        self._run_dir = run_dir
        self._disk = disk
        self._upkeep = upkeep
        self._requests = requests
        self._patience = patience

    def write(self, state: State, phase: str, **fields: Any) -> Answer:
        """Write the terminal state after all else; return the answer to wait for."""
        self._disk.put("upkeep", self._upkeep.look)  # a cleaner may have been here since the last heartbeat
        state.change(phase, **fields)
        return self._disk.ask(functools.partial(self._clear, state))

    def wait(self, state: State) -> None:
        """Wait until the terminal state is written, trying again where it could not be; not for long after a stop."""
        deadline = time.monotonic() + self._patience
        self._disk.wait(self._patience)
        stop_deadline = time.monotonic() + RETRY_STOPPED_S
        while not state.is_written:
            stopped = self._requests.poll(self._disk) is not None
            if time.monotonic() >= (min(deadline, stop_deadline) if stopped else deadline):
                return
            time.sleep(RETRY_S)
            self.write(state, state.phase)
            self._disk.wait(max(0.0, deadline - time.monotonic()))

    def _clear(self, state: State) -> None:
        """Remove what is of use only until the end is written."""
        if state.is_written:
            files.release_reserve(self._run_dir)
            self._requests.remove()
