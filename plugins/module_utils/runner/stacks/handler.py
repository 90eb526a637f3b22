# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask Python processes for their stacks by the signal that `sitecustomize.py` has registered in them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from ..._records.frozen import frozen
from .. import process_tree
from ..process import Process
from .sitecustomize import NAME, SIGNAL

# How long a process may take to begin, and for how long its file does not grow when it has ended.
BEGIN_S, QUIET_S, POLL_S = 3.0, 0.2, 0.02
# Where sitecustomize.py opens its file.
_PLACES = (f"/memfd:{NAME}", f"/dev/shm/{NAME}-")


@frozen
class _Asked:
    """A process that is asked: its open file (device, inode), and where in it the answer begins."""

    process: Process
    descriptor: int
    file: tuple[int, int]
    start: int


def has_handler(process: Process) -> bool:
    """Return whether the signal makes a process write its stacks; it would end any other."""
    return _file_of(process) is not None


def ask(processes: Iterable[Process]) -> dict[int, str]:
    """Return what the processes write, by pid; those that write nothing, in time or at all, are missing."""
    waiting, texts = list(processes), {}
    while waiting:
        asked: dict[tuple[int, int], _Asked] = {}
        later = []
        for process in waiting:
            opened = _open(process)
            if opened is None:
                continue
            # A process that was forked writes into its parent's file, so one is asked after the other.
            if opened.file not in asked and process_tree.send(process, SIGNAL):
                asked[opened.file] = opened
                continue
            os.close(opened.descriptor)
            if opened.file in asked:
                later.append(process)
        texts.update(_read(list(asked.values())))
        waiting = later
    return texts


def _open(process: Process) -> _Asked | None:
    path = _file_of(process)
    try:
        descriptor = os.open(path or "", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has ended meanwhile
        return None
    status = os.fstat(descriptor)
    return _Asked(process, descriptor, (status.st_dev, status.st_ino), status.st_size)


def _read(asked: list[_Asked]) -> dict[int, str]:
    """Wait until the answers have come, and close the files."""
    began = time.monotonic()
    sizes = {item.file: (item.start, began) for item in asked}  # and when it was seen first
    pending = list(asked)
    while pending:
        time.sleep(POLL_S)
        now = time.monotonic()
        for item in list(pending):
            size, since = os.fstat(item.descriptor).st_size, sizes[item.file][1]
            if size != sizes[item.file][0]:
                sizes[item.file] = size, now
            elif now - since >= (QUIET_S if size > item.start else BEGIN_S):
                pending.remove(item)
    texts = {}
    for item in asked:
        data = os.pread(item.descriptor, sizes[item.file][0] - item.start, item.start)
        os.close(item.descriptor)
        if data:
            texts[item.process.pid] = data.decode("utf-8", "replace")
    return texts


def _file_of(process: Process) -> str | None:
    """Return the path of the file that a process has registered; None where it has none, or handles no such signal."""
    if not process_tree.catches(process.pid, SIGNAL):
        return None
    return next((link for link, path in process_tree.open_links(process) if path.startswith(_PLACES)), None)
