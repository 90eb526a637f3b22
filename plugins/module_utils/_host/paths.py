# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of a machine, looked up under a root: links, absolute ones too, never lead out of it."""

from __future__ import annotations

import errno
import os
import stat

LINK_LIMIT = 40  # as path_resolution(7)
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(folder: str, path: str) -> int:
    """Open a regular file for reading, by its path below a directory. Raises OSError.

    No link is followed from the directory on, also none that another user puts there meanwhile.
    """
    *folders, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint((*folders, name)):
        raise OSError(errno.EINVAL, "not a path below a directory", path)
    parent = os.open(folder, DIRECTORY)
    try:
        for part in folders:
            below = os.open(part, DIRECTORY, dir_fd=parent)
            os.close(parent)
            parent = below
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    finally:
        os.close(parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file


class Rooted:
    """The paths of one machine below a directory; is_live: it is the machine that this process is on."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._prefix = self.root.rstrip("/")
        self.is_live = self.root == "/"

    def here(self, path: str) -> str:
        """Return where a path of the machine lies for this process (itself when the root is /)."""
        if not self._prefix:
            return path
        return self._prefix + (self.resolve(path) or path)

    def resolve(self, path: str) -> str | None:
        """Return the path without links, as far as it exists; None for a loop of links."""
        done: list[str] = []
        pending = path.split("/")[::-1]
        links = 0
        while pending:
            name = pending.pop()
            if name == "..":
                del done[-1:]
            elif name not in ("", "."):
                target = self._target("/".join([self._prefix, *done, name]))
                if target is None:
                    done.append(name)
                    continue
                links += 1
                if links > LINK_LIMIT:
                    return None
                if target.startswith("/"):
                    done = []
                pending.extend(target.split("/")[::-1])
        return "/" + "/".join(done)

    def _target(self, path: str) -> str | None:
        try:
            return os.readlink(path)
        except (OSError, ValueError):
            return None

    def read_link(self, path: str) -> str | None:
        """Return the target of a link as it is written."""
        folder, name = os.path.split(path)
        return self._target(os.path.join(self.here(folder), name))

    def is_link(self, path: str) -> bool:
        """Return whether the path itself is a link."""
        return self.read_link(path) is not None

    def expand(self, path: str) -> str:
        """Return the path with ~ and $VARIABLES of this user replaced."""
        return os.path.expanduser(os.path.expandvars(path))
