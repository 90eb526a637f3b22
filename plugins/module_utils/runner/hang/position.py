# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a rank is, from its stacks and its recorded collectives, and whether it has moved between two looks."""

from __future__ import annotations

from collections.abc import Iterable

from ..._records.frozen import frozen
from ..._records.hang import Collective, RankPosition
from ..._records.stacks import RankStacks, ThreadStack
from .trace import parse_trace

# Of bytes between two looks that a rank with its children reads or writes: less is what libraries do by themselves.
BYTES = 64 * 1024
# Of the time between two looks: a rank that computes more, outside of a collective, works. One that sleeps and polls
# takes a hundredth, and one that works may get little where others keep the machine busy.
BUSY = 0.1
# Where torch's collectives are; its other functions there prepare one, or concern two ranks only.
C10D = "torch/distributed/distributed_c10d.py"
COLLECTIVES = {
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object"),
    *("all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier"),
    *("broadcast", "broadcast_object_list", "gather", "gather_object", "reduce", "reduce_scatter"),
    *("reduce_scatter_tensor", "scatter", "scatter_object_list"),
}


@frozen
class Usage:
    """What a rank and its descendants have used: seconds of CPUs, and bytes read and written, mapped files included."""

    cpu_s: float = 0.0
    io_bytes: int = 0


@frozen
class RankLook:
    """One look at a rank: its stacks, the text of its recording (empty: none), and what it has used."""

    rank: int
    stacks: RankStacks
    trace: str = ""
    usage: Usage = Usage()

    @property
    def main(self) -> ThreadStack:
        return self.stacks.threads[0] if self.stacks.threads else ThreadStack()

    @property
    def collectives(self) -> list[Collective]:
        """What the rank has recorded; without a recording, what its main thread calls."""
        recorded = parse_trace(self.trace)
        op = collective_of(self.main)
        return recorded or ([Collective(op=op, is_pending=True)] if op else [])

    @property
    def is_readable(self) -> bool:
        return bool(self.stacks.threads) or bool(parse_trace(self.trace))


def collective_of(thread: ThreadStack) -> str | None:
    """Return the collective that a thread is in, by the names of torch's functions; None where it is in none."""
    names = [frame.function or "" for frame in thread.frames if (frame.file or "").endswith(C10D)]
    return next((name for name in names if name in COLLECTIVES), None)


def has_moved(before: RankLook, after: RankLook, seconds: float) -> bool:
    """Return whether a rank works, so many seconds after the first look: what it does is slow, but no hang."""
    if before.main.frames != after.main.frames or before.collectives != after.collectives:
        return True
    if after.usage.io_bytes - before.usage.io_bytes >= BYTES:  # it loads data, or writes a checkpoint
        return True
    waits = any(item.is_pending for item in after.collectives)  # NCCL's ranks compute while they wait
    return not waits and after.usage.cpu_s - before.usage.cpu_s >= BUSY * seconds


def positions_of(looks: Iterable[RankLook]) -> list[RankPosition]:
    """Return the positions of the ranks that could be read, those that are alike together."""
    groups: dict[tuple[object, ...], list[RankLook]] = {}
    for look in looks:
        if look.is_readable:
            key = (tuple(map(repr, look.collectives)), repr(look.main.inner), repr(look.main.caller))
            groups.setdefault(key, []).append(look)
    return [
        RankPosition(
            [look.rank for look in members], members[0].collectives, members[0].main.inner, members[0].main.caller
        )
        for members in groups.values()
    ]
