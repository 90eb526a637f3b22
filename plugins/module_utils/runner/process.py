# SPDX-License-Identifier: GPL-3.0-or-later
"""One process, as /proc/<pid>/stat describes it."""

from __future__ import annotations

from .._records.frozen import frozen


@frozen
class Process:
    """One process, told apart from a later one with the same pid by its start time (clock ticks since boot)."""

    pid: int
    ppid: int
    start_time: int
    state: str
    session: int = 0


def parse_stat(text: str) -> Process | None:
    """Read ``/proc/<pid>/stat`` (proc_pid_stat(5): fields 1, 3, 4, 6 and 22; the name in field 2 may hold anything)."""
    head, _end, tail = text.rpartition(")")
    fields = tail.split()
    pid = head.partition(" (")[0].strip()
    if len(fields) < 20 or not pid.isdigit():
        return None
    return Process(
        pid=int(pid), ppid=int(fields[1]), start_time=int(fields[19]), state=fields[0], session=int(fields[3])
    )
