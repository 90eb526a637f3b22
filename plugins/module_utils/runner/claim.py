# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a run's lock and its slot: which launch wins where two meet."""

from __future__ import annotations

import errno
import os
import pwd
import socket
import time
from collections.abc import Callable
from typing import Any

from .._records.job import Job
from .._records.layout import STATE
from .._records.run import RunRecord
from .._text.stamps import utc
from . import files, process_tree, tickets
from .locks import SLOT_S, SLOT_WITH_HEAD_S, Lock, run_path, slot_path
from .tickets import age_order

TRY_S = 0.2
# How long a head waits for a member of a younger launch.
HEAD_S = 30.0
HEAD_LOOK_S = 1.0
# What to do where a lock could not be made, by errno.
_PERMIT = "let this user write there, or set launch_workdir to another directory"
_FREE = "free space there, or set launch_workdir to a disk that has some"
_WRITABLE = "mount it writable, or set launch_workdir to another disk"
REMEDIES = {
    errno.EACCES: _PERMIT,
    errno.EPERM: _PERMIT,
    errno.EROFS: _WRITABLE,
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
}


class Refused(Exception):
    """This runner may not begin; the message says why, such as which launch holds the run or the slot.

    holder is what that launch wrote of itself, slot the slot that it holds; without a slot it holds the run.
    """

    def __init__(self, message: str, holder: dict[str, Any] | None = None, slot: str | None = None) -> None:
        super().__init__(message)
        self.holder = holder
        self.slot = slot


def take(job: Job, run_dir: str, stopped: Callable[[], bool]) -> list[Lock]:
    """Take this run's lock and its slot, until this process ends; raise Refused if another launch holds one."""
    endpoint = [job.rendezvous.address, job.gang.port]
    holder = {
        "run_id": job.run_id,
        "nonce": job.nonce,
        "node": job.node,
        "pid": os.getpid(),
        "user": _user_name() if job.container is None else None,  # a container has users of its own
        "since": utc(),
        "node_rank": job.node_rank,
        "created": job.created,
        "head": endpoint,
    }
    slot = slot_path(job.workdir, job.node, job.slot)
    resources = (run_path(run_dir), f"run {job.run_id}"), (slot, f"slot '{job.slot}'")
    locks: list[Lock] = []
    patience = _Patience(job)
    _check_queue(job)
    waited = False
    for path, resource in resources:
        lock = Lock(path)
        while not _acquire(lock, holder):
            rival = lock.holder()
            waited = True
            if stopped():
                raise Refused(f"stopped while waiting for {resource}")
            if rival is not None and patience.ends(rival):  # None: it is free by now
                raise Refused(_describe(rival, resource, job), rival, job.slot if path == slot else None)
            time.sleep(TRY_S)
        locks.append(lock)
    _check_removed(dict(resources))
    if waited:
        _check_turn(job, run_dir, patience, stopped)
    return locks


def _check_queue(job: Job) -> None:
    """Raise Refused where an older launch waits for the slot, unless this one waited, and its turn has come."""
    known = tickets.list_tickets(tickets.queue_path(job.workdir, job.node, job.slot))
    if any(ticket["nonce"] == job.nonce and ticket.get(tickets.ADMITTED) for ticket in known):
        return
    for ticket in known:
        if age_order(ticket) < age_order(vars(job)):
            waiting = f"slot '{job.slot}' is reserved for run {ticket.get('run_id')}, which waits for it"
            raise Refused(waiting, tickets.holder_of(ticket), job.slot)


def _check_removed(resources: dict[str, str]) -> None:
    """Raise Refused where another runner holds the lock of a file that a cleaner removed; it will make it again."""
    for process in filter(process_tree.is_runner, process_tree.every()):
        held = process_tree.removed_files(process) & set(resources)
        if held and process.pid != os.getpid():
            run_id = process_tree.environment(process.pid).get("MUSTER_RUN_ID", "?")
            lock = min(held)
            raise Refused(f"{resources[lock]} is held by run {run_id} (pid {process.pid}), but {lock} was removed")


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a user without a name
        return str(os.geteuid())


def _acquire(lock: Lock, holder: dict[str, Any]) -> bool:
    try:
        return lock.acquire(holder)
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "set launch_workdir to a local disk, where flock(2) works")
        raise Refused(f"{lock.path} could not be locked: {error.strerror}; {remedy}") from error


class _Patience:
    """How long a runner waits for another launch's, so that of launches that meet, exactly one gets all its nodes.

    The head decides: the launch that holds its own head's node goes on, and its members wait for the others to leave.
    Where two such launches with different heads hold what the other needs, the younger one leaves.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._began = self._alone_since = self._next_look = time.monotonic()

    def ends(self, rival: dict[str, Any]) -> bool:
        """Return whether this runner leaves the lock to the runner that holds it."""
        now = time.monotonic()
        # A holder whose name could not be read counts as younger, so that launches that meet do not both leave.
        is_older = bool(rival.get("created")) and age_order(rival) < age_order(vars(self._job))
        if self._job.node_rank == 0:
            # A younger launch's member leaves when its own head, which this launch's member keeps out, is refused.
            return is_older or rival.get("node_rank") == 0 or now - self._began >= HEAD_S
        if now >= self._next_look:
            self._next_look = now + HEAD_LOOK_S
            head, own_head = rival.get("head"), [self._job.rendezvous.address, self._job.gang.port]
            if is_older and head != own_head and _listens(head):
                return True
            self._look_for_head()
        return self.is_alone() or now - self._began >= SLOT_WITH_HEAD_S

    def is_alone(self) -> bool:
        """Return whether this member's own head has not listened for a while."""
        return time.monotonic() - self._alone_since >= SLOT_S

    def has_head(self) -> bool:
        """Return whether this runner is the head, or its head listens now."""
        return self._job.node_rank == 0 or self._look_for_head()

    def _look_for_head(self) -> bool:
        listens = _listens([self._job.rendezvous.address, self._job.gang.port])
        if listens:
            self._alone_since = time.monotonic()
        return listens


def _check_turn(job: Job, run_dir: str, patience: _Patience, stopped: Callable[[], bool]) -> None:
    """Raise Refused where the run was another launch's meanwhile, whose state must stay."""
    state = RunRecord.from_dict(files.read_json(os.path.join(run_dir, STATE)))
    if state.started is None or state.nonce == job.nonce:
        return
    winner = f"run {job.run_id} was started by launch {str(state.nonce)[:8]} at {state.started}"
    if age_order(vars(state)) > age_order(vars(job)):
        raise Refused(f"{winner}, which is younger than this launch ({job.nonce[:8]}); its state was not changed")
    while not patience.has_head():
        if patience.is_alone() or stopped():
            raise Refused(f"{winner}, and no head waits for this launch ({job.nonce[:8]}); its state was not changed")
        time.sleep(TRY_S)


def _listens(endpoint: object) -> bool:
    """Return whether anything listens at a head's [address, port]."""
    if not (isinstance(endpoint, list) and len(endpoint) == 2 and isinstance(endpoint[1], int)):
        return False
    try:
        socket.create_connection((str(endpoint[0]), endpoint[1]), timeout=HEAD_LOOK_S).close()
    except (OSError, ValueError, OverflowError):  # the last two: no such address or port
        return False
    return True


def _describe(holder: dict[str, Any], resource: str, job: Job) -> str:
    run_id, nonce, node, since = (str(holder.get(name, "?")) for name in ("run_id", "nonce", "node", "since"))
    if run_id == job.run_id:
        return f"{resource} is held by its launch {nonce[:8]} on {node} since {since}, not by this one"
    return f"{resource} is held by run {run_id} (launch {nonce[:8]}) on {node} since {since}"
