# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks the others wait for: from the positions of all ranks, on the head. The runner takes this file along.

What is concluded is what was seen. A run hangs for certain only where nothing can come of its waiting: ranks have
entered different collectives as the same one of all ranks, or each is held in one that another held rank has not
entered, or a rank they wait for has ended. A rank that only waits may spin meanwhile, so that its work tells nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .._text.printable import clean
from .._text.spans import spans
from .frozen import frozen
from .hang import (
    AT_WORK,
    BLOCKED,
    COMPUTES,
    ENDED,
    MOST_NAME,
    MOVES,
    STOPPED,
    TRANSFERS,
    Collective,
    Hang,
    NodeLook,
    RankPosition,
)

# The group of all ranks, as torch names it (distributed_c10d.py, init_process_group) and describes it.
ALL = "default_pg"
# Of the positions that a hang keeps, and that its sentence names.
MOST_POSITIONS = 4
WORDS = {
    MOVES: "moving",
    TRANSFERS: "reading or writing",
    COMPUTES: "computing",
    STOPPED: "stopped by a signal or a debugger",
    BLOCKED: "blocked in the kernel",
    ENDED: "ended",
}


@frozen
class _Meeting:
    """A collective that some ranks have entered and others not; is_mismatch: some of these entered another."""

    collective: Collective
    waiting: list[int]
    absent: list[int]
    is_mismatch: bool


def judge(looks: Mapping[str, NodeLook], silent: Iterable[str] = ()) -> Hang:
    """Return what the ranks of all nodes wait for; silent are nodes without an answer."""
    places = [(node, position) for node, look in looks.items() for position in look.positions]
    positions = [position for _node, position in places]
    meetings = list(_meetings(positions))
    pending = {rank for position in positions if position.pending for rank in position.ranks}
    absent = {rank for meeting in meetings for rank in meeting.absent}
    held = _deadlocked(positions, meetings)
    ended = {rank for position in positions if position.activity == ENDED for rank in position.ranks}
    certain = [meeting for meeting in meetings if meeting.is_mismatch or {*meeting.absent} & (held | ended)]
    # An absent rank that waits in another collective is itself held up: one that waits in none comes first.
    best = min(
        certain or meetings, key=lambda meeting: (not meeting.absent, bool(pending & {*meeting.absent})), default=None
    )
    hang = Hang(
        unread=sorted(rank for look in looks.values() for rank in look.unread),
        silent=sorted(silent),
        is_certain=bool(certain),
        is_moving=not certain and any(_counts(position, pending - absent) for position in positions),
    )
    if best is None:
        return dataclasses.replace(hang, positions=_first(position for position in positions))
    missing = {*best.absent} or {rank for item in positions if item.is_unknown for rank in item.ranks}
    named = [(node, item) for node, item in places if {*item.ranks} & (missing or {*best.waiting})]
    named.sort(key=lambda place: min(place[1].ranks))
    return dataclasses.replace(
        hang,
        collective=best.collective,
        waiting=best.waiting,
        absent=best.absent,
        node=named[0][0] if named and best.absent else None,
        positions=_first(position for _node, position in named),
    )


def _first(positions: Iterable[RankPosition]) -> list[RankPosition]:
    return list(positions)[:MOST_POSITIONS]


def _counts(position: RankPosition, only_waiting: set[int]) -> bool:
    """Return whether these ranks were at work on what others may wait for."""
    return position.activity == MOVES or (position.activity in AT_WORK and not {*position.ranks} <= only_waiting)


def _deadlocked(positions: Sequence[RankPosition], meetings: Sequence[_Meeting]) -> set[int]:
    """Return the ranks of which each is held in a collective that another one of them has not entered."""
    waits_for: dict[int, set[int]] = {}
    for position in positions:
        pending = [item for item in position.collectives if item.is_pending]
        if position.is_held and len(pending) == 1:
            for rank in position.ranks:
                waits_for[rank] = {other for meeting in meetings if rank in meeting.waiting for other in meeting.absent}
    dead: set[int] = set()
    while dead != {*waits_for}:
        dead = {*waits_for}
        waits_for = {rank: others for rank, others in waits_for.items() if others & dead}
    return dead


def _meetings(positions: Sequence[RankPosition]) -> Iterator[_Meeting]:
    """Yield for each group of processes the collective that holds it up."""
    groups = dict.fromkeys(item.group for position in positions for item in position.collectives if item.is_pending)
    for group in groups:
        states = [(position, _in_group(position, group)) for position in positions if not _is_unknown(position, group)]
        waiting = [(position, item) for position, item in states if item is not None and item.is_pending]
        # What holds it up is the oldest one that a rank has not entered; of several at one number the most frequent.
        candidates = sorted(waiting, key=lambda pair: (pair[1].seq or 0, -_count(waiting, pair[1])))
        meetings = [_meeting(item, states) for _position, item in candidates]
        yield next((meeting for meeting in meetings if meeting.absent), meetings[0])


def _meeting(collective: Collective, states: Sequence[tuple[RankPosition, Collective | None]]) -> _Meeting:
    waiting = {rank for position, item in states if _is_in(item, collective) for rank in position.ranks}
    absent = {rank for position, item in states if _is_absent(item, collective) for rank in position.ranks}
    is_mismatch = collective.group == ALL and any(_differs(item, collective) for _position, item in states)
    return _Meeting(collective, sorted(waiting), sorted(absent - waiting), is_mismatch)


def _differs(item: Collective | None, collective: Collective) -> bool:
    """Return whether a rank waits in another collective that has the number of this one in the group."""
    if item is None or collective.seq is None:
        return False
    return item.is_pending and item.seq == collective.seq and item.op != collective.op


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
    """Return whether ranks may be in a collective of this group, for all we know: of some only the stack is known."""
    pending = position.pending
    if position.is_unknown:
        return True
    return group is not None and pending is not None and pending.seq is None and not _in_group(position, group)


def _in_group(position: RankPosition, group: str | None) -> Collective | None:
    return next((item for item in position.collectives if item.group == group), None)


def _count(waiting: Sequence[tuple[RankPosition, Collective]], collective: Collective) -> int:
    return sum(len(position.ranks) for position, item in waiting if _is_in(item, collective))


def describe(hang: Hang) -> str:
    """Return ``ranks 0-6 wait in all_reduce #1841, rank 7 has not entered it: load (data.py:10)``."""
    collective, unknown = hang.collective, _unknown(hang)
    if collective is None:
        return f"no rank is known to wait in a collective{_places(hang, '; ')}{unknown}"
    waits = f"{_ranks(hang.waiting, ' waits', ' wait')} in {_text(collective)}"
    if hang.absent:
        return f"{waits}, {_ranks(hang.absent, ' has', ' have')} not entered it{_places(hang)}{unknown}"
    others = _places(hang, "; ") if any(position.is_unknown for position in hang.positions) else ""
    return f"{waits}, and no rank is known that has not entered it{others}{unknown}"


def explain(hang: Hang) -> str:
    """Return the same as the reason of an end: ``hung: …``, or for how long no rank had shown a sign."""
    before = "hung" if hang.is_certain else f"no step and no output for {hang.silent_s or 0:.0f} s"
    return f"{before}: {describe(hang)}"


def _text(collective: Collective) -> str:
    number = "" if collective.seq is None else f" #{collective.seq}"
    group = "" if collective.group in (None, ALL) else f" of the group {_name(collective.group)}"
    return f"{_name(collective.op)}{number}{group}"


def _ranks(ranks: Sequence[int], one: str = "", several: str = "") -> str:
    return f"ranks {spans(ranks)}{several}" if len(ranks) > 1 else f"rank {spans(ranks)}{one}"


def _places(hang: Hang, names: str = "") -> str:
    """Return where the ranks are that are named, each place once; names: with their ranks."""
    places: dict[str, list[int]] = {}
    for position in hang.positions:
        places.setdefault(_place(position), []).extend(position.ranks)
    texts = [f"{_ranks(ranks)}: {place}" if names else place for place, ranks in places.items() if place]
    return f"{names or ': '}{'; '.join(texts)}" if texts else ""


def _place(position: RankPosition) -> str:
    inner, caller = position.frame, position.caller
    frames = [frame for frame in (inner, caller if caller != inner else None) if frame is not None]
    waits, words = position.pending, WORDS.get(position.activity or "", "")
    other = f"in {_text(waits)}, " if waits else ""
    where = ", called from ".join(_name(frame.text, 2 * MOST_NAME) for frame in frames)
    return other + (f"{words} in {where}" if words and where else words or where)


def _unknown(hang: Hang) -> str:
    parts = [f"{_ranks(hang.unread)} could not be read"] if hang.unread else []
    parts += [f"{', '.join(map(_name, hang.silent[:MOST_POSITIONS]))} gave no answer"] if hang.silent else []
    return f" ({'; '.join(parts)})" if parts else ""


def _name(value: object, most: int = MOST_NAME) -> str:
    return clean(str(value))[:most] if value else "?"
