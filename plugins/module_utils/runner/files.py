# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a run: private, never through a link, replaced atomically, owned by whoever owns the directory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from typing import Any, BinaryIO

from .._records.known import parse_json

# Files whose space and inodes are kept for a run's last state and for a stop request, in bytes.
RESERVE, REQUEST_RESERVE = "reserve", "reserve.stop"
RESERVES = {RESERVE: 256 * 1024, REQUEST_RESERVE: 16 * 1024}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# How deep in a tree of directories the runner works: every level holds a descriptor.
DEEPEST = 64


def create(path: str, flags: int) -> int:
    """Open a private file for writing (0600); root gives it to the directory's owner, who reads it over SSH."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading, never through a link; raise OSError for anything else, such as a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb")


def make_dir(path: str) -> None:
    """Make a private directory (0700) if it does not exist; root gives it to the owner of its parent."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.chown(path, owner.st_uid, owner.st_gid)


def remove_tree(path: str) -> None:
    """Remove a directory and what is in it, never through a link; what cannot be removed stays.

    Before Python 3.11, shutil.rmtree keeps all threads from running while the storage hangs.
    """
    with contextlib.suppress(OSError):
        _remove_tree(path, None, DEEPEST)


def _remove_tree(path: str, parent: int | None, depth: int) -> None:
    folder = os.open(path, DIRECTORY, dir_fd=parent)
    try:
        for name in os.listdir(folder) if depth else ():
            with contextlib.suppress(OSError):
                try:
                    os.unlink(name, dir_fd=folder)
                except (IsADirectoryError, PermissionError):  # the latter is what POSIX says of a directory
                    _remove_tree(name, folder, depth - 1)
    finally:
        os.close(folder)
    os.rmdir(path, dir_fd=parent)


def is_at(descriptor: int, path: str) -> bool:
    """Return whether an open file or directory is still the one at this path, and the storage still knows it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except OSError:  # removed, or ESTALE: a file server has forgotten it
        return False


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
    write_atomic(path, _line(value), durable)


def _line(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True) + "\n").encode()


def read_json(path: str) -> Any:
    """Return the JSON document of a file, None if it is absent or not JSON."""
    try:
        with open_regular(path) as stream:
            return parse_json(stream.read())
    except OSError:
        return None


def reserve(directory: str) -> None:
    """Reserve files, so that a request and the final state can be written when no room or no inode is left."""
    for name, size in RESERVES.items():
        path = os.path.join(directory, name)
        try:
            with open(create(path, os.O_WRONLY), "wb") as stream:
                os.posix_fallocate(stream.fileno(), 0, size)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _write_into(reserved: str, path: str, data: bytes) -> None:
    """Write into an existing file, which needs no inode and no new space, and put it in the place of `path`."""
    with open(os.open(reserved, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as stream:
        stream.write(data)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(reserved, path)


def write_request(path: str, value: Any) -> None:
    """Write a small JSON document, into what is reserved for it where there is no room or no inode."""
    try:
        write_json(path, value, durable=False)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        try:
            _write_into(os.path.join(os.path.dirname(path), REQUEST_RESERVE), path, _line(value))
        except OSError:
            os.close(create(path, os.O_WRONLY))  # an empty request, or an earlier one, is one too


def release_reserve(directory: str) -> None:
    for name in RESERVES:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, name))


def write_state(directory: str, name: str, value: Any, last: bool = True) -> bool:
    """Write a state file, the last one even on a full disk at the cost of the reserve; False if that failed."""
    path = os.path.join(directory, name)
    try:
        write_json(path, value)
        return True
    except OSError as error:
        if not last or error.errno not in NO_ROOM:
            return False
    try:
        _write_into(os.path.join(directory, RESERVE), path, _line(value))
        return True
    except OSError:  # a file system that needs new space for what is overwritten
        release_reserve(directory)
    try:
        write_json(path, value)
        return True
    except OSError:
        return False
