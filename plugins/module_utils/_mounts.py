# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is mounted where, from /proc/self/mountinfo."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

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
        # How many optional fields there are differs from kernel to kernel: the type follows the first lone `-`.
        mounts.append(Mount(_unescaped(fields[4]), _unescaped(fields[fields.index("-", 6) + 1])))
    return mounts


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that an absolute path without links is on."""
    best = None
    for mount in mounts:
        if f"{path}/".startswith(f"{mount.point.rstrip('/')}/") and (
            best is None or len(mount.point) >= len(best.point)
        ):
            best = mount  # of two on one point the later one hides the other, as on an automount point
    return best


def filesystem_of(path: str, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the file system that an absolute path without links is on."""
    mount = mount_of(path, mounts)
    return None if mount is None else mount.type


def mounts_in(path: str, mounts: Iterable[Mount]) -> list[str]:
    """Return the points of mounts at or below an absolute path without links."""
    return [mount.point for mount in mounts if f"{mount.point}/".startswith(f"{path.rstrip('/')}/")]


def _unescaped(field: str) -> str:
    """Return a field with what the kernel wrote as \\040 for a blank and the like."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)
