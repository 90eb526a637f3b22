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
# Where Python reads from the network.
NETWORK = ("/socket.py", "/ssl.py")


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
    """Where some ranks of a node are alike: their collectives, the newest first, and their main threads."""

    OWN_READERS = {"ranks": _as_ranks}  # noqa: RUF012

    ranks: list[int] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    frame: StackFrame | None = None
    caller: StackFrame | None = None

    @property
    def pending(self) -> Collective | None:
        """The collective in which they wait, None where they wait in none."""
        return next((item for item in self.collectives if item.is_pending), None)


@frozen
class NodeLook(Document):
    """What two looks at the ranks of a node have shown; has_moved: something had changed in between.

    unread are ranks of which nothing could be read. number is that of the head's order.
    """

    OWN_READERS = {"unread": _as_ranks}  # noqa: RUF012

    has_moved: bool = False
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
    """What the ranks of a run that hangs wait for: `waiting` have entered a collective, `absent` have not.

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
    is_stopped: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether it is known for whom the others wait, and that nothing can come of it.

        A node that gives no answer may be the one that works. A rank that reads from the network may be loading: the
        kernel does not count these bytes.
        """
        files = {position.frame.file or "" for position in self.positions if position.frame is not None}
        return bool(self.absent) and not self.silent and not any(file.endswith(NETWORK) for file in files)
