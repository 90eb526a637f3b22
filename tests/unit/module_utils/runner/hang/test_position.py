# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a rank is by its recording and its stack, and what it did."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import (
    BLOCKED,
    COMPUTES,
    ENDED,
    MOVES,
    STOPPED,
    TRANSFERS,
    Collective,
)
from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import ALL
from ansible_collections.muster.train.plugins.module_utils._records.stacks import RankStacks, StackFrame, ThreadStack
from ansible_collections.muster.train.plugins.module_utils.runner.hang.position import (
    BYTES,
    RankLook,
    Usage,
    activity_of,
    collective_of,
    positions_of,
)
from ansible_collections.muster.train.plugins.module_utils.runner.hang.trace import parse_trace
from ansible_collections.muster.train.plugins.module_utils.runner.hang.usage import parse_cpu, parse_io, parse_mapped

C10D = "/v/site-packages/torch/distributed/distributed_c10d.py"
ALL_REDUCE = [
    StackFrame("all_reduce", C10D, 3252),
    StackFrame("wrapper", "/v/site-packages/torch/distributed/c10d_logger.py", 83),
    StackFrame("train", "/code/train.py", 41),
]
LOAD = [StackFrame("load", "/code/data.py", 10)]


def entry(seq: int, op: str = "gloo:all_reduce", retired: bool = True, group: str = "default_pg", **more: Any) -> Any:
    name = "0" if group == "default_pg" else group
    description = group if group == "default_pg" else "undefined"
    values = {"collective_seq_id": seq, "profiling_name": op, "retired": retired, "state": "scheduled"}
    return {**values, "process_group": [name, description], "is_p2p": False, **more}


def trace(*entries: Any) -> str:
    return json.dumps({"version": "2.10", "entries": list(entries)})


JOIN = [StackFrame("join", "/usr/lib/python3.13/threading.py", 1092), StackFrame("main", "/code/train.py", 90)]


def look(
    frames: list[StackFrame],
    text: str = "",
    rank: int = 0,
    cpu_s: float = 0,
    size: int = 0,
    state: str | None = "S",
    others: Sequence[list[StackFrame]] = (),
) -> RankLook:
    threads = [ThreadStack(None, number == 0, calls) for number, calls in enumerate([frames, *others])]
    usage = Usage({"pid 1": cpu_s}, {"pid 1": size})
    return RankLook(rank, RankStacks(rank, 100 + rank, "py-spy", None, threads), text, usage, state)


def unread(state: str | None, cpu_s: float = 0) -> RankLook:
    return dataclasses.replace(look([], state=state, cpu_s=cpu_s), stacks=RankStacks(0, 100))


def test_a_recording_of_gloo() -> None:
    assert parse_trace(trace(entry(5), entry(6))) == [Collective(ALL, "all_reduce", 6, 6, False)]
    assert parse_trace(trace(entry(5), entry(6, retired=False))) == [Collective(ALL, "all_reduce", 6, 6, True)]


def test_a_recording_of_nccl_in_which_the_rank_is_ahead() -> None:
    entries = [
        entry(4, "nccl:all_reduce", state="completed", retired=False),
        entry(5, "nccl:_all_gather_base", state="started", retired=False),
        entry(6, "nccl:all_reduce", state="scheduled", retired=False),
    ]
    assert parse_trace(trace(*entries)) == [Collective(ALL, "_all_gather_base", 5, 6, True)]


def test_several_groups_and_what_is_between_two_ranks() -> None:
    entries = [
        entry(1, retired=False),
        entry(9, group="17"),
        entry(3, is_p2p=True, retired=False),
        entry(10, group="17"),
    ]
    assert parse_trace(trace(*entries)) == [
        Collective(ALL, "all_reduce", 1, 1, True),
        Collective("17", "all_reduce", 10, 10, False),
    ]


def test_groups_of_one_name_are_told_apart_by_their_ranks() -> None:
    known = {"pg_config": {"1": {"name": "1", "desc": "undefined", "ranks": "[4, 5, 6, 7]"}}}
    text = json.dumps({**known, "entries": [entry(3, group="1"), entry(2)]})
    assert [item.group for item in parse_trace(text)] == [ALL, "1 (ranks 4-7)"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"entries": 3}', trace({}, 3, entry(1, process_group=3)), '{"entries": [{"x']
)
def test_what_is_no_recording(text: str) -> None:
    assert parse_trace(text) == []


def test_the_collective_in_a_stack() -> None:
    assert collective_of(ThreadStack(frames=ALL_REDUCE)) == "all_reduce"
    assert collective_of(ThreadStack(frames=LOAD)) is None
    begins = [StackFrame("_new_process_group_helper", C10D, 1), StackFrame("init_process_group", C10D, 2)]
    assert collective_of(ThreadStack(frames=begins)) is None
    for other in ("send", "get_rank", "new_group", "_coalescing_manager"):
        assert collective_of(ThreadStack(frames=[StackFrame(other, C10D, 1)])) is None
    assert look(ALL_REDUCE).collectives == [Collective(op="all_reduce", is_pending=True)]
    assert look(LOAD, trace(entry(5))).collectives == [Collective(ALL, "all_reduce", 5, 5)]


WAITS = trace(entry(6, retired=False))
NEXT = trace(entry(6), entry(7, retired=False))
LATER = [StackFrame("load", "/code/data.py", 11)]
ACTIVITIES = {
    "nothing": (look(LOAD), look(LOAD), None),
    "another line": (look(LOAD), look(LATER), MOVES),
    "the next collective": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, NEXT), MOVES),
    "it reads data": (look(LOAD), look(LOAD, size=BYTES), TRANSFERS),
    "it writes little": (look(LOAD), look(LOAD, size=BYTES - 1), None),
    "it computes": (look(LOAD), look(LOAD, cpu_s=2.0), COMPUTES),
    "it computes a little": (look(LOAD), look(LOAD, cpu_s=0.1), None),
    "it computes or spins while it waits": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, WAITS, cpu_s=3.0), COMPUTES),
    "it waits and its children load": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, WAITS, size=BYTES), TRANSFERS),
    "a thread moves for which it waits": (look(JOIN, others=[LOAD]), look(JOIN, others=[LATER]), MOVES),
    "another thread moves": (look(LOAD, others=[LOAD]), look(LOAD, others=[LATER]), None),
    "it is stopped": (look(LOAD, state="T"), look(LOAD, state="T"), STOPPED),
    "a debugger holds it": (unread("t"), unread("t"), STOPPED),
    "it is blocked": (unread("D"), unread("D"), BLOCKED),
    "it was so for a moment": (look(LOAD), look(LOAD, state="D"), None),
    "it is read by one look only": (look(LOAD), unread("S"), None),
    "it computes and gives no answer": (unread("R"), unread("R", cpu_s=3.0), COMPUTES),
    "it has ended meanwhile": (look(LOAD), unread(None), ENDED),
}


@pytest.mark.parametrize("name", ACTIVITIES)
def test_what_a_rank_did(name: str) -> None:
    before, after, activity = ACTIVITIES[name]
    assert activity_of(before, after, 3.0) == activity


def test_what_is_new_counts_in_full_and_what_has_ended_counts_not() -> None:
    before = Usage({"pid 1": 9.0, "pid 2": 5.0}, {"socket 7": 100})
    assert Usage({"pid 1": 10.0, "pid 3": 0.5}, {"socket 8": 70}).since(before) == (1.5, 70)


@pytest.mark.parametrize(
    ("threads", "place"),
    [
        ([LOAD, ALL_REDUCE], "load"),
        ([JOIN, LOAD, ALL_REDUCE], "all_reduce"),
        ([JOIN, ALL_REDUCE[1:2], LOAD], "load"),
        ([JOIN], "join"),
    ],
)
def test_where_a_rank_is_whose_main_thread_waits_for_another(threads: list[list[StackFrame]], place: str) -> None:
    inner = look(threads[0], others=threads[1:]).thread.inner
    assert inner is not None
    assert inner.function == place


def test_ranks_that_are_alike_are_one_position() -> None:
    waiting = [look(ALL_REDUCE, WAITS, rank) for rank in (0, 1, 3)]
    silent = dataclasses.replace(look([], rank=4), stacks=RankStacks(4, 104))
    looks = [*waiting, look(LOAD, trace(entry(5)), 2), silent]
    positions = positions_of(looks, looks, 3.0)
    assert [(item.ranks, item.pending is not None, item.caller) for item in positions] == [
        ([0, 1, 3], True, ALL_REDUCE[2]),
        ([2], False, LOAD[0]),
    ]


def test_what_proc_says_of_usage() -> None:
    text = "7 (a b) c) S 1 7 7 0 -1 0 0 0 3 5 250 50 80 20 20 0 1 0 99"
    assert parse_cpu(text) * os.sysconf("SC_CLK_TCK") == pytest.approx(400)
    assert parse_mapped(text) == 3 * os.sysconf("SC_PAGE_SIZE")
    assert [parse_mapped(text) for text in ("", "7 (a) S 1")] == [0, 0]
    assert [parse_cpu(text) for text in ("", "7 (a) S 1", "1 (a) S 1 7 7 0 -1 0 0 0 0 0 x y 0")] == [0.0, 0.0, 0.0]
    assert parse_io("rchar: 100\nwchar: 20\nsyscr: 7\nread_bytes: 4096\n") == 120
    assert parse_io("") == 0
