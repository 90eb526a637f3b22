# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a run: private, never through a link, replaced atomically, owned by whoever owns the directory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import Any

from .._records.known import parse_json

RESERVE = "reserve"
RESERVE_BYTES = 256 * 1024
# Of it, what a request to the runner may take: some blocks of any file system.
REQUEST_BYTES = 32 * 1024
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def create(path: str, flags: int) -> int:
    """Open a private file for writing (0600); root gives it to the directory's owner, who reads it over SSH."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def make_dir(path: str) -> None:
    """Make a private directory (0700) if it does not exist; root gives it to the owner of its parent."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.chown(path, owner.st_uid, owner.st_gid)


def write_atomic(path: str, data: bytes, durable: bool = True) -> None:
    """Replace a file at once: readers see the old bytes or the new ones."""
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(create(new, os.O_WRONLY | os.O_TRUNC), "wb") as stream:
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def write_json(path: str, value: Any, durable: bool = True) -> None:
    """Write one JSON document, on one line, atomically."""
    write_atomic(path, (json.dumps(value, sort_keys=True) + "\n").encode(), durable)


def read_json(path: str) -> Any:
    """Return the JSON document of a file, None if it is absent or not JSON."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            return parse_json(stream.read())
    except OSError:
        return None


def reserve(directory: str) -> None:
    """Reserve some space, so that the final state can be written even if the disk is full by then."""
    try:
        with open(create(os.path.join(directory, RESERVE), os.O_WRONLY), "wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, RESERVE_BYTES)
    except OSError:
        release_reserve(directory)


def write_request(path: str, value: Any) -> None:
    """Write a small JSON document beside the reserve, of which it takes a part where the disk is full.

    An empty file is written if even that space is taken by another process.
    """
    try:
        write_json(path, value, durable=False)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        with contextlib.suppress(OSError):
            os.truncate(os.path.join(os.path.dirname(path), RESERVE), RESERVE_BYTES - REQUEST_BYTES)
        try:
            write_json(path, value, durable=False)
        except OSError:
            os.close(create(path, os.O_WRONLY))


def release_reserve(directory: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(directory, RESERVE))


def write_state(directory: str, name: str, value: Any, last: bool = True) -> bool:
    """Write a state file, the last one even on a full disk at the cost of the reserve; False if there is no space."""
    path = os.path.join(directory, name)
    for last_try in (not last, True):
        try:
            write_json(path, value)
            return True
        except OSError as error:
            if last_try or error.errno not in NO_ROOM:
                return False
            release_reserve(directory)
    return False
