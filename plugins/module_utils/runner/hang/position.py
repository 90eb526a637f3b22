# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a rank is, from its stacks and its recorded collectives, and what it did between two looks."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ..._records.frozen import field, frozen
from ..._records.hang import (
    BLOCKED,
    C10D,
    COLLECTIVES,
    COMPUTES,
    ENDED,
    MOVES,
    STOPPED,
    TRANSFERS,
    Collective,
    RankPosition,
)
from ..._records.stacks import RankStacks, StackFrame, ThreadStack
from .trace import parse_trace

# Of bytes between two looks that a rank with its children reads or writes: less is what libraries do by themselves.
BYTES = 64 * 1024
# Of the time between two looks: a rank that computes more works, or spins in a collective. One that sleeps and polls
# takes a hundredth, and one that works may get little where others keep the machine busy.
BUSY = 0.1
# Where Python waits for another thread.
_JOINS = {("join", "/threading.py"), ("result", "/concurrent/futures/_base.py")}
_STATES = {"T": STOPPED, "t": STOPPED, "D": BLOCKED}


@frozen
class Usage:
    """What a rank has used: seconds of CPUs by process, and bytes by process and socket, read, written, and mapped."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    io_bytes: dict[str, int] = field(default_factory=dict)

    def since(self, before: Usage) -> tuple[float, int]:
        """Return the seconds and the bytes since an earlier one; a process or a socket that is new counts in full."""
        cpu_s = sum(value - before.cpu_s.get(name, 0) for name, value in self.cpu_s.items())
        return cpu_s, sum(value - before.io_bytes.get(name, 0) for name, value in self.io_bytes.items())


@frozen
class RankLook:
    """One look at a rank: its stacks, the text of its recording (empty: none), what it has used, and its state.

    state is the one of the kernel, None of a process that has ended.
    """

    rank: int
    stacks: RankStacks
    trace: str = ""
    usage: Usage = field(default_factory=Usage)
    state: str | None = "S"

    @property
    def threads(self) -> list[ThreadStack]:
        """The threads that tell whether the rank moves: the main one, and all where it waits for another."""
        threads = self.stacks.threads
        joins = threads and any(
            name == frame.function and (frame.file or "").endswith(file)
            for frame in threads[0].frames[:3]
            for name, file in _JOINS
        )
        return threads if joins else threads[:1]

    @property
    def thread(self) -> ThreadStack:
        """The thread that trains: the main one, or where that waits, one in a collective or in the program's code."""
        others = self.threads[1:]
        chosen = [item for item in others if collective_of(item)] or [item for item in others if item.caller]
        return next(iter([*chosen, *self.threads]), ThreadStack())

    @functools.cached_property
    def collectives(self) -> list[Collective]:
        """What the rank has recorded; without a recording, what its thread calls."""
        op = collective_of(self.thread)
        return parse_trace(self.trace) or ([Collective(op=op, is_pending=True)] if op else [])

    @property
    def is_readable(self) -> bool:
        return bool(self.stacks.threads or self.collectives)


def collective_of(thread: ThreadStack) -> str | None:
    """Return the collective that a thread is in, by the names of torch's functions; None where it is in none."""
    names = [frame.function or "" for frame in thread.frames if (frame.file or "").endswith(C10D)]
    return next((name for name in names if name in COLLECTIVES), None)


def activity_of(before: RankLook, after: RankLook, seconds: float) -> str | None:
    """Return what a rank did in so many seconds, by the names of RankPosition; None where nothing is seen of it."""
    cpu_s, io_bytes = after.usage.since(before.usage)
    both_read = before.is_readable and after.is_readable
    if after.state is None:
        return ENDED
    # A recording has megabytes: one that has not changed is not parsed twice.
    has_recorded = before.trace != after.trace and before.collectives != after.collectives
    if both_read and (has_recorded or _calls(before) != _calls(after)):
        return MOVES
    if io_bytes >= BYTES:  # it loads data, or writes a checkpoint
        return TRANSFERS
    if cpu_s >= BUSY * seconds:
        return COMPUTES
    return _STATES.get(after.state) if after.state == before.state else None


def _calls(look: RankLook) -> list[list[StackFrame]]:
    return [thread.frames for thread in look.threads]


def positions_of(before: Iterable[RankLook], after: Iterable[RankLook], seconds: float) -> list[RankPosition]:
    """Return the positions of the ranks of which anything is known, those that are alike together."""
    first = {look.rank: look for look in before}
    groups: dict[str, RankPosition] = {}
    for look in after:
        activity = activity_of(first[look.rank], look, seconds)
        if look.is_readable or activity:
            alike = RankPosition([], look.collectives, look.thread.inner, look.thread.caller, activity)
            groups.setdefault(repr(alike), alike).ranks.append(look.rank)
    return list(groups.values())
