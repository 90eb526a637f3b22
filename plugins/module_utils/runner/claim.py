# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a run's lock and its slot: who wins where two launches meet."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Any

from .._records.job import Job
from .._text.stamps import utc
from .locks import Lock, run_path, slot_path

TRY_S = 0.2
# A member whose slot is taken waits for the loser of a race; longer while its own head is there to wait for it.
SLOT_S, SLOT_WITH_HEAD_S = 8.0, 60.0
HEAD_LOOK_S = 1.0


class Taken(Exception):
    """The slot is another run's; the message says whose."""


def take(job: Job, run_dir: str, stopped: Callable[[], bool]) -> list[Lock]:
    """Take this run's lock and its slot, for as long as they are referred to; raise Taken where that is not to be.

    The head decides a race: it fails at once, while a member waits for the loser to leave.
    """
    holder = {"run_id": job.run_id, "nonce": job.nonce, "node": job.node, "pid": os.getpid(), "since": utc()}
    locks = []
    began = alone_since = next_look = time.monotonic()
    for path in (run_path(run_dir), slot_path(job.workdir, job.slot)):
        lock = Lock(path)
        while not lock.acquire(holder):
            if stopped():
                raise Taken(f"stopped while waiting for slot '{job.slot}'")
            now = time.monotonic()
            if now >= next_look:
                next_look = now + HEAD_LOOK_S
                alone_since = time.monotonic() if _head_is_there(job) else alone_since
            if job.node_rank == 0 or now - alone_since >= SLOT_S or now - began >= SLOT_WITH_HEAD_S:
                raise Taken(_describe(lock.holder() or {}, job.slot))
            time.sleep(TRY_S)
        locks.append(lock)
    return locks


def _head_is_there(job: Job) -> bool:
    """Return whether somebody listens where the head of this run should."""
    try:
        socket.create_connection((job.rendezvous.address, job.gang.port), timeout=HEAD_LOOK_S).close()
    except OSError:
        return False
    return True


def _describe(holder: dict[str, Any], slot: str) -> str:
    """Name who holds a slot, for whoever comes second."""
    return "slot '{}' is held by run {} (launch {}) on {} since {}".format(
        slot,
        holder.get("run_id", "?"),
        str(holder.get("nonce", "?"))[:8],
        holder.get("node", "?"),
        holder.get("since", "?"),
    )
