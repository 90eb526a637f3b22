# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask ranks for their stacks and for what torch has recorded, by the pipe that `sitecustomize.py` has opened."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable

from ..._records.frozen import field, frozen
from ..._records.stacks import ThreadStack
from .. import process_tree
from ..process import Process
from .parse import parse_faulthandler
from .sitecustomize import RECORDER, SEPARATOR, TOKEN_BYTES

# How long a rank may take: its thread needs the interpreter, which a call that keeps it locked does not give away.
ANSWER_S, POLL_S = 3.0, 0.02
# Many times what 2000 collectives take.
MOST_BYTES = 16 * 1024 * 1024
_FILE = re.compile(rf"(?:/memfd:|/dev/shm/){RECORDER}-([0-9]+)-([0-9]+)\b")


@frozen
class RankAnswer:
    """What a rank says: its threads, and the text of its recording, empty without one."""

    threads: list[ThreadStack] = field(default_factory=list)
    trace: str = ""


def ask(processes: Iterable[Process]) -> dict[int, RankAnswer]:
    """Return the answers by pid; a process that has no recorder, or gives no answer in time, is missing."""
    waiting: dict[int, tuple[int, bytes]] = {}
    for process in processes:
        token = secrets.token_hex(TOKEN_BYTES // 2).encode()
        file = _send(process, token)
        if file is not None:
            waiting[process.pid] = file, token
    answers: dict[int, RankAnswer] = {}
    deadline = time.monotonic() + ANSWER_S
    while waiting and time.monotonic() < deadline:
        time.sleep(POLL_S)
        for pid, (file, token) in list(waiting.items()):
            data = os.pread(file, MOST_BYTES, 0)
            if data.endswith(token):
                stacks, _separator, trace = data[: -len(token)].decode("utf-8", "replace").partition(SEPARATOR.decode())
                answers[pid] = RankAnswer(parse_faulthandler(stacks), trace)
                os.close(waiting.pop(pid)[0])
    for file, _token in waiting.values():
        os.close(file)
    return answers


def _send(process: Process, token: bytes) -> int | None:
    """Send a token; return the descriptor of the file in which the answer comes, None where it has no recorder."""
    for link, path in process_tree.open_links(process):
        match = _FILE.match(path)
        if match is None:
            continue
        with contextlib.suppress(OSError):  # it has ended meanwhile, or closed them
            pipe = os.open(f"{os.path.dirname(link)}/{match[1]}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(pipe)
                if stat.S_ISFIFO(status.st_mode) and status.st_ino == int(match[2]):
                    os.write(pipe, token)
                    return os.open(link, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                os.close(pipe)
    return None
