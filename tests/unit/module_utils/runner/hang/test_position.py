# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a rank is by its recording and its stack, and whether it has moved."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import Collective
from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import ALL
from ansible_collections.muster.train.plugins.module_utils._records.stacks import RankStacks, StackFrame, ThreadStack
from ansible_collections.muster.train.plugins.module_utils.runner.hang.position import (
    BYTES,
    RankLook,
    Usage,
    collective_of,
    has_moved,
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


def look(frames: list[StackFrame], text: str = "", rank: int = 0, **usage: Any) -> RankLook:
    return RankLook(
        rank, RankStacks(rank, 100 + rank, "py-spy", None, [ThreadStack(None, True, frames)]), text, Usage(**usage)
    )


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
MOVES = {
    "nothing": (look(LOAD), look(LOAD), False),
    "another line": (look(LOAD), look([StackFrame("load", "/code/data.py", 11)]), True),
    "the next collective": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, trace(entry(6), entry(7, retired=False))), True),
    "it reads data": (look(LOAD), look(LOAD, io_bytes=BYTES), True),
    "it writes little": (look(LOAD), look(LOAD, io_bytes=BYTES - 1), False),
    "it computes": (look(LOAD), look(LOAD, cpu_s=2.0), True),
    "it computes a little": (look(LOAD), look(LOAD, cpu_s=0.1), False),
    "it waits busily, as NCCL does": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, WAITS, cpu_s=3.0), False),
    "it waits and its children load": (look(ALL_REDUCE, WAITS), look(ALL_REDUCE, WAITS, io_bytes=BYTES), True),
}


@pytest.mark.parametrize("name", MOVES)
def test_whether_a_rank_has_moved(name: str) -> None:
    before, after, moved = MOVES[name]
    assert has_moved(before, after, 3.0) is moved


def test_ranks_that_are_alike_are_one_position() -> None:
    waiting = [look(ALL_REDUCE, WAITS, rank) for rank in (0, 1, 3)]
    silent = dataclasses.replace(look([], rank=4), stacks=RankStacks(4, 104))
    positions = positions_of([*waiting, look(LOAD, trace(entry(5)), 2), silent])
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
