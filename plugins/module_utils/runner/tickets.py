# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches that wait for a slot: one ticket per launch on every node, which expires unless the launch renews it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from .._records import layout
from . import files

SUFFIX, QUEUE_SUFFIX = ".json", ".queue"
# Until when a ticket holds, in seconds of the node's clock.
UNTIL = "until"
# Whether its launch may start and does so now: another one that comes meanwhile waits for it, although it is older.
ADMITTED = "admitted"


def queue_path(workdir: str, node: str, slot: str) -> str:
    """Return the directory with the tickets for a slot."""
    return os.path.join(layout.slots_dir(workdir, node), slot + QUEUE_SUFFIX)


def age_order(launch: Mapping[str, Any]) -> tuple[str, str]:
    """Return what orders launches by age; on every node the same."""
    return str(launch.get("created", "")), str(launch.get("nonce", ""))


@contextlib.contextmanager
def open_queue(queue: str) -> Iterator[str]:
    """Yield a path of a queue's directory, which stays valid, under a lock against other launches; raise OSError."""
    descriptor = os.open(queue, files.DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def renew(place: str, ticket: Mapping[str, Any], seconds: float, admitted: bool) -> None:
    """Write a launch's ticket, which holds for these seconds; admitted: its turn has come, and it is about to start."""
    known = {**ticket, UNTIL: time.time() + seconds, ADMITTED: admitted}
    files.write_json(os.path.join(place, str(ticket["nonce"]) + SUFFIX), known, durable=False)


def remove(place: str, nonce: str) -> bool:
    """Remove a launch's ticket; return whether it had one."""
    try:
        os.unlink(os.path.join(place, nonce + SUFFIX))
    except OSError:
        return False
    return True


def remove_launch(workdir: str, node: str, nonce: str) -> bool:
    """Remove a launch's tickets on a node, whatever slot it waits for; return whether it had one."""
    slots = layout.slots_dir(workdir, node)
    removed = [remove(os.path.join(slots, name), nonce) for name in _names(slots, QUEUE_SUFFIX)]
    return any(removed)


def remove_expired(place: str) -> None:
    """Remove the files that hold no valid ticket any more."""
    names = {ticket["nonce"] + SUFFIX for ticket in list_tickets(place)}
    for name in _names(place, SUFFIX):
        if name not in names:
            remove(place, name[: -len(SUFFIX)])


def list_tickets(place: str) -> list[dict[str, Any]]:
    """Return the tickets that hold: of the launch that starts now, then the oldest first; none without a queue."""
    tickets = [files.read_json(os.path.join(place, name)) for name in _names(place, SUFFIX)]
    return sorted(filter(_holds, tickets), key=lambda ticket: (not ticket.get(ADMITTED), *age_order(ticket)))


def list_waiting(workdir: str, node: str) -> list[dict[str, Any]]:
    """Return the launches that wait on a node, with the slot that each waits for, by slots."""
    slots = layout.slots_dir(workdir, node)
    queues = sorted(_names(slots, QUEUE_SUFFIX))
    return [
        {**holder_of(ticket), "slot": queue[: -len(QUEUE_SUFFIX)]}
        for queue in queues
        for ticket in list_tickets(os.path.join(slots, queue))
    ]


def holder_of(ticket: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of the launch that keeps others from a slot with this ticket."""
    return {**ticket, "since": ticket.get("created"), "waits": True}


def _names(directory: str, suffix: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if name.endswith(suffix)]
    except OSError:
        return []


def _holds(ticket: Any) -> bool:
    if not isinstance(ticket, dict) or not isinstance(ticket.get("nonce"), str):
        return False
    until = ticket.get(UNTIL)
    return isinstance(until, (int, float)) and until >= time.time()
