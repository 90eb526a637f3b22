# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file systems of directories: kind, size, space."""

from __future__ import annotations

import os
from typing import Any

from ._host import Host
from ._mounts import mount_of, parse_mountinfo
from ._system_records import Disk

# Where ranks share memory and where libraries put what is theirs, whatever the launch asks for.
ALWAYS = ("/dev/shm", "/tmp")


def existing(host: Host, path: str) -> str:
    """Return how far an absolute path without links exists."""
    while not host.exists(path) and path != "/":
        path = os.path.dirname(path)
    return path


def in_checkout(host: Host, path: str) -> bool:
    """Return whether an absolute path without links is in a checkout of git."""
    while not host.exists(f"{path}/.git"):
        if path in ("/", ""):
            return False
        path = os.path.dirname(path)
    return True


def read_disk(host: Host, path: str, probe: bool = False) -> Disk:
    """Return the file system that a directory is on, or would be; with probe, try whether it can be written.

    What is tried is the next directory above that exists; in a checkout only without a name that shows. Below another
    root nothing is written.
    """
    real = host.resolve(path)
    if real is None:
        return Disk(path)
    there = existing(host, real)
    space = host.space(there)
    # After it was looked at: an automounter has mounted by now what it keeps unmounted.
    mount = mount_of(there, parse_mountinfo(host.read_text("/proc/self/mountinfo") or ""))
    return Disk(
        path=path,
        mount_point=mount.point if mount else None,
        filesystem=mount.type if mount else None,
        size_bytes=space.size if space else None,
        free_bytes=space.free if space else None,
        free_inodes=space.free_inodes if space else None,
        read_only=space.read_only if space else None,
        **(_tried(host, there) if probe and host.own else {}),
    )


def _tried(host: Host, folder: str) -> dict[str, Any]:
    # git status looks at the same time, and would call a clean checkout changed.
    state = host.outside.try_write(host.here(folder), named=not in_checkout(host, folder))
    if state is None:
        return {}
    return {"writable": state == 0, "write_error": os.strerror(state) if state else None}
