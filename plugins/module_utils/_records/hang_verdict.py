# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks the others wait for: from the positions of all ranks, on the head. The runner takes this file along."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .._text.printable import clean
from .._text.spans import spans
from .frozen import frozen
from .hang import MOST_NAME, Collective, Hang, NodeLook, RankPosition

# The group of all ranks, as torch names it (distributed_c10d.py, init_process_group) and describes it.
ALL = "default_pg"
# Of the positions that a hang keeps, and that its sentence names.
MOST_POSITIONS = 4


@frozen
class _Meeting:
    """A collective that some ranks have entered and others not."""

    collective: Collective
    waiting: list[int]
    absent: list[int]


def judge(looks: Mapping[str, NodeLook], silent: Iterable[str] = ()) -> Hang:
    """Return what the ranks of all nodes wait for; silent are nodes without an answer."""
    places = [(node, position) for node, look in looks.items() for position in look.positions]
    positions = [position for _node, position in places]
    meetings = list(_meetings(positions))
    pending = {rank for position in positions if position.pending for rank in position.ranks}
    # An absent rank that waits in another collective is itself held up: one that waits in none comes first.
    best = min(meetings, key=lambda meeting: (not meeting.absent, bool(pending & {*meeting.absent})), default=None)
    hang = Hang(unread=sorted(rank for look in looks.values() for rank in look.unread), silent=sorted(silent))
    if best is None:
        return dataclasses.replace(hang, positions=positions[:MOST_POSITIONS])
    named = [(node, item) for node, item in places if {*item.ranks} & {*(best.absent or best.waiting)}]
    named.sort(key=lambda place: min(place[1].ranks))
    return dataclasses.replace(
        hang,
        collective=best.collective,
        waiting=best.waiting,
        absent=best.absent,
        node=named[0][0] if named and best.absent else None,
        positions=[position for _node, position in named][:MOST_POSITIONS],
    )


def _meetings(positions: Sequence[RankPosition]) -> Iterator[_Meeting]:
    """Yield for each group of processes the collective that holds it up."""
    groups = dict.fromkeys(item.group for position in positions for item in position.collectives if item.is_pending)
    for group in groups:
        states = [(position, _in_group(position, group)) for position in positions if not _is_unknown(position, group)]
        waiting = [(position, item) for position, item in states if item is not None and item.is_pending]
        # What holds it up is the oldest one that somebody has not entered; of several at one number the most frequent.
        candidates = sorted(waiting, key=lambda pair: (pair[1].seq or 0, -_count(waiting, pair[1])))
        meetings = [_meeting(item, states) for _position, item in candidates]
        yield next((meeting for meeting in meetings if meeting.absent), meetings[0])


def _meeting(collective: Collective, states: Sequence[tuple[RankPosition, Collective | None]]) -> _Meeting:
    waiting = {rank for position, item in states if _is_in(item, collective) for rank in position.ranks}
    absent = {rank for position, item in states if _is_absent(item, collective) for rank in position.ranks}
    return _Meeting(collective, sorted(waiting), sorted(absent - waiting))


def _is_in(item: Collective | None, collective: Collective) -> bool:
    return item is not None and item.is_pending and (item.seq, item.op) == (collective.seq, collective.op)


def _is_absent(item: Collective | None, collective: Collective) -> bool:
    """Return whether a rank with this state in the group has not entered a collective of it.

    Only of the group of all ranks, and of what a stack tells, is it known that a rank without a record belongs to it.
    """
    if item is None:
        return collective.group in (None, ALL)
    if collective.seq is None or item.seq is None:
        return not item.is_pending
    return (item.last or 0) < collective.seq or (item.is_pending and item.seq == collective.seq)


def _is_unknown(position: RankPosition, group: str | None) -> bool:
    """Return whether ranks wait in a collective by their stacks alone: they may be in this group's, for all we know."""
    pending = position.pending
    return group is not None and pending is not None and pending.seq is None and not _in_group(position, group)


def _in_group(position: RankPosition, group: str | None) -> Collective | None:
    return next((item for item in position.collectives if item.group == group), None)


def _count(waiting: Sequence[tuple[RankPosition, Collective]], collective: Collective) -> int:
    return sum(len(position.ranks) for position, item in waiting if _is_in(item, collective))


def describe(hang: Hang) -> str:
    """Return ``ranks 0-6 wait in all_reduce #1841, rank 7 never entered it: load (data.py:10)``."""
    collective, unknown = hang.collective, _unknown(hang)
    if collective is None:
        return f"no rank moves, and none waits in a collective{_places(hang)}{unknown}"
    number = "" if collective.seq is None else f" #{collective.seq}"
    group = "" if collective.group in (None, ALL) else f" of the group {_name(collective.group)}"
    waits = f"{_ranks(hang.waiting)} in {_name(collective.op)}{number}{group}"
    if not hang.absent:
        return f"{waits}, and no rank is known that has not entered it{unknown}"
    return f"{waits}, {_ranks(hang.absent, 'rank')} never entered it{_places(hang)}{unknown}"


def _ranks(ranks: Sequence[int], verb: str = "wait") -> str:
    several = len(ranks) != 1
    words = f"rank{'s' * several} {spans(ranks)}"
    return words if verb == "rank" else f"{words} wait{'s' * (not several)}"


def _places(hang: Hang) -> str:
    """Return where the ranks are that are named, each place once."""
    places = dict.fromkeys(filter(None, map(_place, hang.positions)))
    return f": {'; '.join(places)}" if places else ""


def _place(position: RankPosition) -> str:
    inner, caller = position.frame, position.caller
    frames = [frame for frame in (inner, caller if caller != inner else None) if frame is not None]
    waits = position.pending
    other = f"in {_name(waits.op)}{'' if waits.seq is None else f' #{waits.seq}'}, " if waits else ""
    return other + ", called from ".join(_name(frame.text, 2 * MOST_NAME) for frame in frames)


def _unknown(hang: Hang) -> str:
    parts = [f"{_ranks(hang.unread, 'rank')} could not be read"] if hang.unread else []
    parts += [f"{', '.join(map(_name, hang.silent[:MOST_POSITIONS]))} gave no answer"] if hang.silent else []
    return f" ({'; '.join(parts)})" if parts else ""


def _name(value: object, most: int = MOST_NAME) -> str:
    return clean(str(value))[:most] if value else "?"
