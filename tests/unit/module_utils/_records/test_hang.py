# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks the others wait for, and how little room a look needs."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import (
    BLOCKED,
    COMPUTES,
    ENDED,
    MAX_LOOK_BYTES,
    MOVES,
    STOPPED,
    TRANSFERS,
    Collective,
    Hang,
    NodeLook,
    RankPosition,
)
from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import ALL, describe, judge
from ansible_collections.muster.train.plugins.module_utils._records.stacks import StackFrame

WAIT = StackFrame("all_reduce", "/v/site-packages/torch/distributed/distributed_c10d.py", 3252)
STEP = StackFrame("train", "/code/train.py", 41)
LOAD = StackFrame("load", "/code/data.py", 10)


def waits(seq: int | None, op: str = "all_reduce", group: str | None = ALL, last: int | None = None) -> Collective:
    return Collective(group, op, seq, seq if last is None else last, is_pending=True)


def done(seq: int, op: str = "all_reduce", group: str = ALL) -> Collective:
    return Collective(group, op, seq, seq)


def at(
    ranks: range | list[int], *collectives: Collective, frame: StackFrame = WAIT, activity: str | None = None
) -> RankPosition:
    return RankPosition(list(ranks), list(collectives), frame, STEP if frame is WAIT else frame, activity)


def known(*ranks: int, activity: str) -> RankPosition:
    """Ranks of which only this is known."""
    return RankPosition([*ranks], activity=activity)


def looks(*positions: RankPosition, **others: NodeLook) -> dict[str, NodeLook]:
    return {"n1": NodeLook(positions=list(positions[:1])), "n2": NodeLook(positions=list(positions[1:])), **others}


CASES = {
    "one never came": looks(at(range(4), waits(1841)), at([4, 5, 6], waits(1841)), at([7], done(1840), frame=LOAD)),
    "none is missing": looks(at(range(4), waits(7)), at(range(4, 8), waits(7))),
    # A rank of NCCL may have entered many, of which none can be complete before the first one is.
    "others are ahead": looks(at([0], waits(5, last=9)), at([1], waits(6, last=6)), at([2], done(4), frame=LOAD)),
    "another collective": looks(at(range(7), waits(12)), at([7], waits(12, "broadcast"))),
    # Ranks 0 and 1 wait for 2, which waits in another group for 3: 3 waits for no other.
    "a chain": looks(
        at([0, 1], waits(8)),
        at([2], waits(3, "broadcast", "7"), done(7)),
        at([3], done(7), done(2, group="7"), frame=LOAD),
    ),
    "only of its group": looks(at([0, 1], waits(8, group="3"), done(2)), at([2, 3], done(2), frame=LOAD)),
    "by stacks alone": looks(at([0, 1], waits(None, group=None)), at([2], frame=LOAD)),
    # Rank 2 has no recording: it may wait in the same one.
    "a stack beside recordings": looks(
        at([0, 1], waits(7)), at([2], waits(None, group=None)), n3=NodeLook(positions=[at([3], done(6), frame=LOAD)])
    ),
    "no collective at all": looks(at([0], frame=LOAD), at([1], frame=STEP)),
    "something is missing": looks(at([0], waits(3)), at([1], done(2), frame=LOAD), n3=NodeLook(unread=[5, 6])),
    # Healthy: one evaluates, loads, saves or is about to come, and the others wait for it, or it is all of them.
    "one computes": looks(at(range(7), waits(12, "barrier")), at([7], done(11), frame=LOAD, activity=COMPUTES)),
    "one writes": looks(at(range(7), waits(12, "barrier")), at([7], done(11), frame=LOAD, activity=TRANSFERS)),
    "one moves": looks(at(range(7), waits(12)), at([7], done(11), frame=LOAD, activity=MOVES)),
    "all compile": looks(at(range(4), frame=LOAD, activity=COMPUTES), at(range(4, 8), frame=LOAD, activity=COMPUTES)),
    "one computes for what another waits": looks(
        at([0], waits(8), activity=COMPUTES),
        at([1], waits(8), done(2, group="7"), frame=LOAD, activity=COMPUTES),
        at([2], waits(8), waits(3, group="7")),
    ),
    "one computes and cannot be read": looks(at([0], waits(8)), known(1, activity=COMPUTES)),
    # They spin while they wait, as NCCL's ranks do.
    "all spin": looks(at(range(4), waits(7), activity=COMPUTES), at(range(4, 8), waits(7), activity=COMPUTES)),
    "all but one spin": looks(at(range(7), waits(7), activity=COMPUTES), at([7], done(6), frame=LOAD)),
    "one is stopped": looks(at(range(7), waits(7)), known(7, activity=STOPPED)),
    "one is blocked": looks(at(range(7), waits(7)), at([7], done(6), frame=LOAD, activity=BLOCKED)),
    "one has ended": looks(at(range(7), waits(7), activity=COMPUTES), known(7, activity=ENDED)),
    "two groups in another order": looks(
        at([0], waits(4, group="7"), done(1, group="9"), done(3)), at([1], done(3, group="7"), waits(2, group="9"))
    ),
    "two groups, and one goes on meanwhile": looks(
        at([0], waits(4, group="7"), done(1, group="9")),
        at([1], done(3, group="7"), waits(2, group="9"), frame=LOAD, activity=COMPUTES),
    ),
}
WANTED = {
    "one never came": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 1841, [7], "n2"),
    "none is missing": ([0, 1, 2, 3, 4, 5, 6, 7], "all_reduce", 7, [], None),
    "others are ahead": ([0], "all_reduce", 5, [2], "n2"),
    "another collective": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 12, [7], "n2"),
    "a chain": ([2], "broadcast", 3, [3], "n2"),
    "only of its group": ([0, 1], "all_reduce", 8, [], None),
    "by stacks alone": ([0, 1], "all_reduce", None, [2], "n2"),
    "a stack beside recordings": ([0, 1], "all_reduce", 7, [3], "n3"),
    "no collective at all": ([], None, None, [], None),
    "something is missing": ([0], "all_reduce", 3, [1], "n2"),
    "one computes": ([0, 1, 2, 3, 4, 5, 6], "barrier", 12, [7], "n2"),
    "one writes": ([0, 1, 2, 3, 4, 5, 6], "barrier", 12, [7], "n2"),
    "one moves": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 12, [7], "n2"),
    "all compile": ([], None, None, [], None),
    "one computes for what another waits": ([2], "all_reduce", 3, [1], "n2"),
    "one computes and cannot be read": ([0], "all_reduce", 8, [], None),
    "all spin": ([0, 1, 2, 3, 4, 5, 6, 7], "all_reduce", 7, [], None),
    "all but one spin": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 7, [7], "n2"),
    "one is stopped": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 7, [], None),
    "one is blocked": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 7, [7], "n2"),
    "one has ended": ([0, 1, 2, 3, 4, 5, 6], "all_reduce", 7, [7], "n2"),
    "two groups in another order": ([0], "all_reduce", 4, [1], "n2"),
    "two groups, and one goes on meanwhile": ([0], "all_reduce", 4, [1], "n2"),
}
# All others are only said as they were seen.
CERTAIN = {"another collective", "one has ended", "two groups in another order"}
MOVING = {
    *("one computes", "one writes", "one moves", "all compile", "one computes for what another waits"),
    *("one computes and cannot be read", "two groups, and one goes on meanwhile"),
}


@pytest.mark.parametrize("name", CASES)
def test_who_holds_the_others_up(name: str) -> None:
    hang = judge(CASES[name], ["n9"])
    collective = hang.collective or Collective()
    assert (hang.waiting, collective.op, collective.seq, hang.absent, hang.node) == WANTED[name]
    assert (hang.is_certain, hang.is_moving) == (name in CERTAIN, name in MOVING)
    assert hang.silent == ["n9"]
    assert describe(hang).isprintable()
    assert Hang.from_dict(json.loads(json.dumps(hang.to_dict()))) == hang


def test_what_is_named_is_where_the_absent_ranks_are() -> None:
    assert [position.frame for position in judge(CASES["one never came"]).positions] == [LOAD]
    assert [position.frame for position in judge(CASES["none is missing"]).positions] == [WAIT, WAIT]
    assert judge(CASES["something is missing"]).unread == [5, 6]


def test_a_hostile_member_can_say_nothing_that_is_not_printed_as_data() -> None:
    bad = RankPosition([1], [Collective(ALL, "x\x1b[2J\u202e" * 99, 1, 1, True)], StackFrame("\x1b[2J", "\n", 1))
    text = describe(
        judge({"n\x1b1": NodeLook(positions=[bad]), "n2": NodeLook(positions=[at([2], done(0))])}, ["\x1b"])
    )
    assert text.isprintable()
    assert len(text) < 1000


def test_a_look_fits_into_a_frame() -> None:
    many = NodeLook(
        positions=[at([rank], *[done(rank + 9, group=str(group)) for group in range(4)]) for rank in range(16)]
    )
    short = NodeLook.from_dict(json.loads(json.dumps(many.to_short_dict())))
    assert len(json.dumps(short.to_dict())) <= MAX_LOOK_BYTES
    left = dataclasses.replace(
        many, positions=[*[at([rank], waits(9)) for rank in range(99)], at([99], done(8), frame=LOAD)]
    )
    assert NodeLook.from_dict(left.to_short_dict()).positions[0].ranks == [99]
    read = [rank for position in short.positions for rank in position.ranks]
    assert (read, sorted([*read, *short.unread])) == (list(range(len(read))), list(range(16)))
    one = NodeLook([at([0], waits(1))], [3])
    assert NodeLook.from_dict(one.to_short_dict()) == one
