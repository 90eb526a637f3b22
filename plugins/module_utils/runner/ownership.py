# SPDX-License-Identifier: GPL-3.0-or-later
"""Who owns a run's files: those that a container's root wrote are given to the owner of the directory."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time
from collections.abc import Callable

from .files import DEEPEST, DIRECTORY
from .optional import optional


@optional("giving files to their owner")
def give_back(directory: str, seconds: float = math.inf, note_answer: Callable[[], None] = lambda: None) -> None:
    """Give all files below a directory, written by a container's root, to the directory's owner.

    Links are not followed, and a file with several names stays as it is: it may be one outside. What
    fails, or would take longer than `seconds`, waits for the next time. `note_answer` is called as the work goes on.
    """
    until = time.monotonic() + seconds
    if os.geteuid() != 0:
        return
    with contextlib.suppress(OSError):
        top = os.open(directory, DIRECTORY)
        try:
            owner = os.fstat(top)
            if owner.st_uid != 0:
                _give_below(top, owner, until, note_answer, DEEPEST)
        finally:
            os.close(top)


def _give_below(folder: int, owner: os.stat_result, until: float, note_answer: Callable[[], None], depth: int) -> None:
    # Not os.fwalk: before Python 3.11 it keeps all threads from running while storage that a link leads to hangs.
    directories = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                directories.append(name)
            if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
        note_answer()
    for name in directories if depth else ():
        if time.monotonic() > until:
            return
        with contextlib.suppress(OSError):
            below = os.open(name, DIRECTORY, dir_fd=folder)
            try:
                _give_below(below, owner, until, note_answer, depth - 1)
            finally:
                os.close(below)
