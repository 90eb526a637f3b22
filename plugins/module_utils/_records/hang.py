# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks of a run stand that does not move, and what that tells. The runner takes this file along."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .document import Document, as_integers, as_stamp
from .frozen import field, frozen
from .stacks import StackFrame

# Of a rank, its groups of processes with the newest collectives; of a text, characters.
MOST_GROUPS, MOST_NAME = 4, 80
# A node's report that is longer in JSON leaves out ranks: a frame between runners holds 4 KiB.
MAX_LOOK_BYTES = 3000
# Where torch's collectives are; its other functions there prepare one, or concern two ranks only.
C10D = "torch/distributed/distributed_c10d.py"
COLLECTIVES = {
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object"),
    *("all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier"),
    *("broadcast", "broadcast_object_list", "gather", "gather_object", "reduce", "reduce_scatter"),
    *("reduce_scatter_tensor", "scatter", "scatter_object_list"),
}
# What a rank does between two looks: at another line or in another collective; works; or none of both (None).
MOVES, TRANSFERS, COMPUTES = "moves", "transfers", "computes"
STOPPED, BLOCKED, ENDED = "stopped", "blocked", "ended"
AT_WORK = (MOVES, TRANSFERS, COMPUTES)


def _as_ranks(value: object) -> list[int]:
    return as_integers(value) or []


@frozen
class Collective(Document):
    """What a rank does in a group of processes: the first collective that it has entered and that is not complete.

    Where all are complete (is_pending False), the last one. seq is its number in the group, last that of the newest
    collective which the rank has entered there; both are None where only the stack tells.
    """

    group: str | None = None
    op: str | None = None
    seq: int | None = None
    last: int | None = None
    is_pending: bool = False


@frozen
class RankPosition(Document):
    """Where some ranks of a node are alike: their collectives, the newest first, and their main threads.

    activity: MOVES, TRANSFERS (reads, writes, sends or receives data) or COMPUTES; STOPPED by a signal or a debugger,
    BLOCKED in the kernel (state D); ENDED: there is no such process any more. None: it does nothing that can be seen.
    """

    OWN_READERS = {"ranks": _as_ranks}  # noqa: RUF012

    ranks: list[int] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    frame: StackFrame | None = None
    caller: StackFrame | None = None
    activity: str | None = None

    @property
    def pending(self) -> Collective | None:
        """The collective in which they wait, None where they wait in none."""
        return next((item for item in self.collectives if item.is_pending), None)

    @property
    def is_held(self) -> bool:
        """Whether its main thread is inside the call of a collective, and gets on only when that is complete."""
        frame = self.frame or StackFrame()
        return self.activity != MOVES and (frame.file or "").endswith(C10D) and frame.function in COLLECTIVES

    @property
    def is_unknown(self) -> bool:
        """Whether nothing tells which collectives it has entered."""
        return not self.collectives and self.frame is None and self.activity != ENDED


@frozen
class NodeLook(Document):
    """What two looks at the ranks of a node have shown.

    unread are ranks whose stacks and collectives could not be read. number is that of the head's order.
    """

    OWN_READERS = {"unread": _as_ranks}  # noqa: RUF012

    positions: list[RankPosition] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    number: int | None = None

    def to_short_dict(self) -> dict[str, Any]:
        """Return it as data that fits into a frame; ranks whose position has no room there are unread.

        Those that wait in no collective come first, as they may be whom the others wait for, and then the largest.
        """
        unread = list(self.unread)
        positions = sorted(self.positions, key=lambda item: (item.pending is not None, -len(item.ranks)))
        while True:
            data = dataclasses.replace(self, positions=positions, unread=sorted(unread)).to_dict()
            if len(json.dumps(data)) <= MAX_LOOK_BYTES or not positions:
                return data
            unread += positions.pop().ranks


@frozen
class Hang(Document):
    """Where the ranks of a run are that makes no step and prints nothing, and what they wait for.

    `waiting` have entered a collective, `absent` have not. That is what was seen, and accuses no rank: is_certain only
    where nothing can come of it, is_moving where a rank for which others may wait was at work.

    at (UTC) is when that was concluded, silent_s how long no rank had made a step or printed anything by then, folder
    the directory in the run directory of each node with stacks and recordings. node has the first absent rank, and
    positions are those of absent ranks, or without any of the first ones that wait. silent are nodes that gave no
    answer. is_stopped: the run was ended for it.
    """

    OWN_READERS = {  # noqa: RUF012
        "at": as_stamp,
        **dict.fromkeys(("waiting", "absent", "unread"), _as_ranks),
    }

    at: str | None = None
    silent_s: float | None = None
    folder: str | None = None
    collective: Collective | None = None
    waiting: list[int] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    node: str | None = None
    positions: list[RankPosition] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    is_certain: bool = False
    is_moving: bool = False
    is_stopped: bool = False
