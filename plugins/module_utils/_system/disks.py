# SPDX-License-Identifier: GPL-3.0-or-later
"""Mounts (/proc/self/mountinfo), and the file systems of directories: type, size, free space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .._host.host import Host
from .._host.live import LiveHost
from .._host.trust import untrusted_part
from .._records.system import Disk

# Shared memory of the ranks, and temporary files of libraries.
ALWAYS = ("/dev/shm", "/tmp")
ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """One mount: where it is, and its file system's type."""

    point: str
    type: str


def parse_mountinfo(text: str) -> list[Mount]:
    """Parse lines `id parent device root point options [optional …] - type source options`, as proc(5) has them."""
    mounts = []
    for line in text.splitlines():
        fields = line.split(" ")
        if "-" not in fields[6:-1]:
            continue
        # The number of optional fields depends on the kernel: the type follows the first lone `-`.
        mounts.append(Mount(_unescaped(fields[4]), _unescaped(fields[fields.index("-", 6) + 1])))
    return mounts


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that an absolute path without links is on."""
    best = None
    for mount in mounts:
        if f"{path}/".startswith(f"{mount.point.rstrip('/')}/") and (
            best is None or len(mount.point) >= len(best.point)
        ):
            best = mount  # of two on one point the later hides the other, as on an automount point
    return best


def filesystem_of(path: str, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the file system that an absolute path without links is on."""
    mount = mount_of(path, mounts)
    return None if mount is None else mount.type


def mounts_in(path: str, mounts: Iterable[Mount]) -> list[str]:
    """Return the points of mounts at or below an absolute path without links."""
    return [mount.point for mount in mounts if f"{mount.point}/".startswith(f"{path.rstrip('/')}/")]


def _unescaped(field: str) -> str:
    """Return a field without the kernel's escapes, such as \\040 for a blank."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)


def existing(host: Host, path: str) -> str:
    """Return the longest existing part of an absolute path without links."""
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


def read_disk(host: LiveHost, path: str, probe: bool = False) -> Disk:
    """Return the file system that a directory is on, or would be; with probe, test whether it can be written.

    The test is made in the closest existing parent; in a git checkout, only with an unnamed file. Below another root
    nothing is written.
    """
    real = host.resolve(path)
    if real is None:
        return Disk(path)
    directory = existing(host, real)
    space = host.space(directory)
    # After the look at the directory, which makes an automounter mount it.
    mount = mount_of(directory, parse_mountinfo(host.read_text("/proc/self/mountinfo") or ""))
    return Disk(
        path=path,
        mount_point=mount.point if mount else None,
        filesystem=mount.type if mount else None,
        size_bytes=space.size if space else None,
        free_bytes=space.free if space else None,
        free_inodes=space.free_inodes if space else None,
        read_only=space.read_only if space else None,
        usable=_is_usable(host, real),
        **(_test_write(host, directory) if probe else {}),
    )


def _is_usable(host: LiveHost, real: str) -> bool:
    """Return whether a run of this user may be kept below a directory; root's start refuses an untrusted one."""
    if not host.is_dir(real) or not host.allows(real, os.W_OK | os.X_OK):
        return False
    return host.user_id() != 0 or untrusted_part(host, real) is None


def _test_write(host: LiveHost, folder: str) -> dict[str, Any]:
    # A git status at the same time would report a clean checkout as changed.
    state = host.live and host.live.try_write(host.here(folder), named=not in_checkout(host, folder))
    if state is None:
        return {}
    return {"writable": state == 0, "write_error": os.strerror(state) if state else None}
