# SPDX-License-Identifier: GPL-3.0-or-later
"""The work directory of a node, resolved, and who holds a slot of it."""

from __future__ import annotations

import os

from .._host.host import Host
from .._host.live import LiveHost
from .._host.trust import untrusted_part
from .._records.holder import LaunchHolder
from .._records.node import Workdir
from ..runner import locks, tickets
from .disks import existing, filesystem_of, parse_mountinfo


def read_workdir(host: LiveHost, path: str, mark: str | None, named: bool = False) -> Workdir:
    """Return the facts of the directory, which need not exist; mark identifies the machine (Identity.mark).

    The existing part of the path is identified by device and inode, which bind mounts and links do not change. named:
    where the file system has no unnamed files, flock(2) is tried on one that has a name for a moment.
    """
    real = host.resolve(path)
    if real is None:
        return Workdir(path, None, False, None)
    directory = existing(host, real)
    inode = host.identity(directory)
    rest = os.path.relpath(real, directory)
    identity = None
    if mark is not None and inode is not None:
        identity = "/".join([mark, f"{inode[0]}:{inode[1]}", *([] if rest == "." else [rest])])
    writable = host.is_dir(directory) and host.allows(directory, os.W_OK | os.X_OK)
    state = host.live.try_lock(host.here(directory), named) if host.live and writable else None
    space = host.space(directory)
    # Last, because the calls above make an automounter mount the file system.
    mounts = parse_mountinfo(host.read_text("/proc/self/mountinfo") or "")
    return Workdir(
        path=real,
        identity=identity,
        writable=writable,
        free_bytes=space.free if space else None,
        filesystem=filesystem_of(directory, mounts),
        flock=None if state is None else state == 0,
        flock_error=os.strerror(state) if state else None,
        untrusted=untrusted_part(host, real),
    )


def read_holder(host: Host, workdir: str, node: str, slot: str) -> LaunchHolder | None:
    """Return the holder of a slot, None where it is free (or only another user may read the lock).

    The runner that holds a slot keeps a lock, so the answer is right even after a crash.
    """
    holder = locks.Lock(host.here(locks.slot_path(workdir, node, slot))).holder()
    return None if holder is None else LaunchHolder.from_dict(holder)


def read_keeper(host: Host, workdir: str, node: str, slot: str) -> LaunchHolder | None:
    """Return the holder of a slot, or else the first launch that waits for it; None where there is neither."""
    holder = read_holder(host, workdir, node, slot)
    if holder is not None:
        return holder
    waiting = tickets.list_tickets(host.here(tickets.queue_path(workdir, node, slot)))
    return LaunchHolder.from_dict(tickets.holder_of(waiting[0])) if waiting else None
