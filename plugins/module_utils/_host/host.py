# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam: the only door to the machine for whatever runs on a node.

Every path is a path of the machine, looked up under `root`; links, absolute ones too, never lead out of it. What is
absent, unreadable or answers with an error is None or False, never an exception, and no read blocks on a pipe.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import BinaryIO, Callable, NamedTuple

from .command import CommandResult, run_command
from .command import child_ended as command_child_ended
from .command import spawn_detached as command_spawn_detached
from .paths import Rooted, open_below

RunFunction = Callable[[Sequence[str], float, "str | None"], CommandResult]
READ_LIMIT = 64 * 1024 * 1024
# The kernel answers ENOMEM to a read of /proc/sys with a buffer of 4 MiB (proc_sys_call_handler).
READ_BLOCK = 1024 * 1024


class Space(NamedTuple):
    """Size and free space of a file system in bytes for this user; free_inodes is None without a limit."""

    size: int
    free: int
    free_inodes: int | None
    read_only: bool


class Owner(NamedTuple):
    """Owner and permissions of a path; mode without the file type."""

    mode: int
    uid: int
    gid: int


class DirEntry(NamedTuple):
    """One name in a directory; is_dir is false for a link."""

    name: str
    is_dir: bool


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


class Host(Rooted):
    """One machine, seen through a directory and a way to run commands; a test can replace both."""

    def __init__(self, root: str = "/", run: RunFunction = run_command) -> None:
        super().__init__(root)
        self._run = run

    def which(self, command: str) -> str | None:
        """Return the first executable of that name in this user's PATH, or an absolute path that is executable."""
        folders = [""] if command.startswith("/") else os.environ.get("PATH", os.defpath).split(os.pathsep)
        for folder in folders:
            path = os.path.join(folder, command)
            if path.startswith("/") and self.is_file(path) and self.allows(path, os.X_OK):
                return path
        return None

    # Reading

    def _open(self, path: str) -> BinaryIO:
        return open(self.here(path), "rb", opener=_open_at_once)

    def _open_in(self, folder: str | None, path: str) -> BinaryIO:
        return self._open(path) if folder is None else open(open_below(self.here(folder), path), "rb")

    def read_bytes(self, path: str, limit: int = READ_LIMIT, offset: int = 0, below: str | None = None) -> bytes | None:
        """Return at most limit bytes of a file, from the offset on.

        below: the directory below which the path is; then only a regular file is read, and no link there is followed.
        """
        data = bytearray()
        try:
            with self._open_in(below, path) as stream:
                if offset:
                    stream.seek(offset)
                while len(data) < limit:
                    block = stream.read(min(READ_BLOCK, limit - len(data)))
                    if not block:
                        break
                    data += block
        except (OSError, ValueError):
            return None
        return bytes(data)

    def read_text(self, path: str, limit: int = READ_LIMIT) -> str | None:
        """Return at most limit bytes of a file as text; what is not UTF-8 is replaced."""
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_folder(self, path: str, names: Iterable[str], limit: int = 4096) -> dict[str, bytes]:
        """Return the first bytes of those files of a folder that can be read; links in it are not followed.

        For folders of hundreds of small files (a GID table): five times as fast as read_bytes for each.
        """
        contents: dict[str, bytes] = {}
        try:
            folder = os.open(self.here(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return contents
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            for name in names:
                try:
                    file = os.open(name, flags, dir_fd=folder)
                except (OSError, ValueError):
                    continue
                try:
                    contents[name] = os.read(file, limit)
                except OSError:
                    pass
                finally:
                    os.close(file)
        finally:
            os.close(folder)
        return contents

    def read_tail(self, path: str, count: int) -> str | None:
        """Return the last count bytes of a file as text."""
        try:
            with self._open(path) as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - count))
                return stream.read(count).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def sha256(self, path: str, size: int | None = None, below: str | None = None) -> str | None:
        """Return the digest in hex of a regular file, or of its first `size` bytes; None where it is shorter.

        below: as in read_bytes.
        """
        if below is None and not self.is_file(path):
            return None
        digest = hashlib.sha256()
        left = sys.maxsize if size is None else size
        try:
            with self._open_in(below, path) as stream:
                while True:
                    block = stream.read(min(READ_BLOCK, left))
                    if not block:
                        break
                    digest.update(block)
                    left -= len(block)
        except (OSError, ValueError):
            return None
        return digest.hexdigest() if size is None or not left else None

    def list_dir(self, path: str) -> list[str] | None:
        """Return the sorted names in a directory."""
        try:
            return sorted(os.listdir(self.here(path)))
        except (OSError, ValueError):
            return None

    def scan_dir(self, path: str, most: int) -> list[DirEntry] | None:
        """Return at most this many entries of a directory, in no order: for those too large for list_dir."""
        try:
            with os.scandir(self.here(path)) as entries:
                return [DirEntry(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, most)]
        except (OSError, ValueError):
            return None

    # Status

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(self.here(path))
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        """Return whether the path exists (not if it is a dangling link)."""
        return self._stat(path) is not None

    def is_file(self, path: str) -> bool:
        """Return whether it is a regular file."""
        status = self._stat(path)
        return status is not None and stat.S_ISREG(status.st_mode)

    def is_dir(self, path: str) -> bool:
        """Return whether it is a directory."""
        status = self._stat(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def size(self, path: str) -> int | None:
        """Return the size in bytes."""
        status = self._stat(path)
        return None if status is None else status.st_size

    def modified(self, path: str) -> float | None:
        """Return the time of the last change, in seconds since the epoch."""
        status = self._stat(path)
        return None if status is None else status.st_mtime

    def identity(self, path: str) -> tuple[int, int] | None:
        """Return device and inode: the same for every name of one file or directory."""
        status = self._stat(path)
        return None if status is None else (status.st_dev, status.st_ino)

    def owner(self, path: str) -> Owner | None:
        """Return mode and owner."""
        status = self._stat(path)
        return None if status is None else Owner(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)

    def allows(self, path: str, mode: int) -> bool:
        """Return whether this user has os.R_OK, os.W_OK or os.X_OK access (a read-only file system counts)."""
        try:
            return os.access(self.here(path), mode)
        except (OSError, ValueError):
            return False

    def opens(self, path: str) -> bool:
        """Return whether this user may read and write it, and opening works: cgroups restrict devices in containers."""
        if not self.allows(path, os.R_OK | os.W_OK):
            return False
        try:
            with self._open(path):
                return True
        except (OSError, ValueError):
            return False

    def space(self, path: str) -> Space | None:
        """Return the space of the path's file system."""
        try:
            usage = os.statvfs(self.here(path))
        except (OSError, ValueError):
            return None
        return Space(
            size=usage.f_blocks * usage.f_frsize,
            free=usage.f_bavail * usage.f_frsize,
            free_inodes=usage.f_favail if usage.f_files else None,
            read_only=bool(usage.f_flag & os.ST_RDONLY),
        )

    # The user and the name

    def node_name(self) -> str:
        """Return the name the kernel gives this machine."""
        return os.uname().nodename

    def user_id(self) -> int:
        """Return the uid that commands run as."""
        return os.geteuid()

    def user_name(self, uid: int | None = None) -> str:
        """Return a user's name, by default this one's; the uid in digits without a name (as in pods of OpenShift)."""
        uid = os.geteuid() if uid is None else uid
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    def home(self) -> str:
        """Return the user's home in the user database, where libraries look for it; HOME may be another."""
        return self.expand(f"~{self.user_name()}")

    # Processes

    def run(self, argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
        """Run a command, in the C locale and without input."""
        return self._run(argv, timeout, None if cwd is None else self.here(cwd))

    def spawn_detached(self, argv: Sequence[str], log_path: str, cwd: str) -> int:
        """Start argv in a session of its own, its output appended to the log; return its pid. Raises OSError."""
        return command_spawn_detached(argv, self.here(log_path), self.here(cwd))

    def child_ended(self, pid: int) -> bool:
        """Return whether a process started by spawn_detached has ended."""
        return command_child_ended(pid)
