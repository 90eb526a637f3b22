# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a run's lock and its slot: which launch wins where two meet."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Any

from .._records.job import Job
from .._text.stamps import utc
from .locks import SLOT_S, SLOT_WITH_HEAD_S, Lock, run_path, slot_path

TRY_S = 0.2
HEAD_LOOK_S = 1.0


class Taken(Exception):
    """The slot is held by another run, which the message names."""


def take(job: Job, run_dir: str, stopped: Callable[[], bool]) -> list[Lock]:
    """Take this run's lock and its slot, until this process ends; raise Taken if another run holds one.

    The head decides a race: it fails at once, while a member waits for the loser to leave.
    """
    holder = {"run_id": job.run_id, "nonce": job.nonce, "node": job.node, "pid": os.getpid(), "since": utc()}
    locks = []
    began = alone_since = next_look = time.monotonic()
    for path in (run_path(run_dir), slot_path(job.workdir, job.node, job.slot)):
        lock = Lock(path)
        while not lock.acquire(holder):
            if stopped():
                raise Taken(f"stopped while waiting for slot '{job.slot}'")
            now = time.monotonic()
            if now >= next_look:
                next_look = now + HEAD_LOOK_S
                alone_since = time.monotonic() if _is_head_listening(job) else alone_since
            if job.node_rank == 0 or now - alone_since >= SLOT_S or now - began >= SLOT_WITH_HEAD_S:
                raise Taken(_describe(lock.holder() or {}, job.slot))
            time.sleep(TRY_S)
        locks.append(lock)
    return locks


def _is_head_listening(job: Job) -> bool:
    try:
        socket.create_connection((job.rendezvous.address, job.gang.port), timeout=HEAD_LOOK_S).close()
    except OSError:
        return False
    return True


def _describe(holder: dict[str, Any], slot: str) -> str:
    run_id, nonce, node, since = (str(holder.get(name, "?")) for name in ("run_id", "nonce", "node", "since"))
    return f"slot '{slot}' is held by run {run_id} (launch {nonce[:8]}) on {node} since {since}"
