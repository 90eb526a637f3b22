# SPDX-License-Identifier: GPL-3.0-or-later
"""Renaming and removing directories, which only `run_prune` does."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from .paths import DIRECTORY, Rooted


def rename(host: Rooted, path: str, new: str) -> None:
    """Rename within a file system. Raises OSError."""
    os.rename(host.here(path), host.here(new))


def remove_tree(host: Rooted, path: str) -> str | None:
    """Remove a directory tree without following links; return the first failure.

    A program may have made more levels than Python recurses, or than a process may hold open: a directory that lies
    deeper is moved to the top before it is emptied. What cannot be removed stays.
    """
    failures: list[str] = []
    with _noting(failures, path):
        top = os.open(host.here(path), DIRECTORY)
        try:
            _empty(top, path, failures)
        finally:
            os.close(top)
        if not failures:
            os.rmdir(host.here(path))
    return failures[0] if failures else None


def _empty(top: int, path: str, failures: list[str]) -> None:
    folders = list(_clear(top, path, failures))
    moves = 0
    while folders:
        name, where = folders.pop()
        with _noting(failures, where):
            folder = os.open(name, DIRECTORY, dir_fd=top)
            try:
                for below, place in _clear(folder, where, failures):
                    moves += 1
                    with _noting(failures, place):
                        os.rename(below, f".moved-{moves}", src_dir_fd=folder, dst_dir_fd=top)
                        folders.append((f".moved-{moves}", place))
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _clear(folder: int, where: str, failures: list[str]) -> Iterator[tuple[str, str]]:
    """Remove all but directories; yield these, with their paths as messages have them."""
    for name in os.listdir(folder):
        place = os.path.join(where, name)
        with _noting(failures, place):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                yield name, place
            else:
                os.unlink(name, dir_fd=folder)


@contextlib.contextmanager
def _noting(failures: list[str], where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        failures.append(f"{where}: {error.strerror}")
