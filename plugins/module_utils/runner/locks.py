# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks held for life: one run per slot, and the only proof that a runner lives.

flock(2) works across bind mounts, containers and users, and the kernel releases it however its holder dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import Any

from .._records import layout
from . import files

# A reader takes a shared lock for an instant; a runner must not take it for a holder.
READER_PATIENCE_S = 1.0
# How long a member waits for the loser of a race to free its slot; longer while its own head waits for it.
SLOT_S, SLOT_WITH_HEAD_S = 8.0, 60.0


class Lock:
    """One lock file; its content names the holder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._holder: dict[str, Any] = {}

    def acquire(self, holder: dict[str, Any], patience: float = READER_PATIENCE_S) -> bool:
        """Take the lock and write its holder; False if another process holds it. Raises OSError where none can be."""
        descriptor = files.create(self.path, os.O_RDWR)
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    return False
                time.sleep(0.05)
            except OSError:  # a file system without flock(2), such as Lustre mounted without -o flock
                os.close(descriptor)
                raise
        self._descriptor, self._holder = descriptor, holder
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        except OSError:
            pass  # a full disk costs the holder's name, not the lock
        return True

    def release(self) -> None:
        """Give the lock back (the kernel does it too when the process ends)."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def restore(self) -> None:
        """Take the lock again if its file was removed; try again later if another process holds it."""
        removed = self._descriptor
        if removed is not None and not files.is_at(removed, self.path) and self.acquire(self._holder, patience=0.0):
            os.close(removed)

    def holder(self) -> dict[str, Any] | None:
        """Return the holder of the lock (empty if its name could not be read), None if the lock is free."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            content = files.read_json(self.path)
            return content if isinstance(content, dict) else {}
        except OSError:
            return None  # a lock cannot be held there
        finally:
            os.close(descriptor)


def slot_path(workdir: str, node: str, slot: str) -> str:
    """Return the lock file of a slot: one run at a time per slot of a node's work directory."""
    return os.path.join(layout.slots_dir(workdir, node), slot + ".lock")


def run_path(run_dir: str) -> str:
    return os.path.join(run_dir, "lock")
