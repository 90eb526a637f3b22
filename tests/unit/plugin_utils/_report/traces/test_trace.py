# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the reader of traces."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.traces import events, intervals
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.intervals import Intervals, length, overlap
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.trace import TraceSummary
from ansible_collections.muster.train.tests.support.telemetry_parts import event, gpu_events, trace, trace_text

NAME = "rank_03_trace.json"
MICROSECOND = 1e-6


def approximately(known: TraceSummary) -> tuple[float, ...]:
    """Return the times in microseconds: window, computation, communication, memory, overlap, idle."""
    times = (known.window_s, known.compute_s, known.communication_s, known.memory_s, known.overlap_s, known.idle_s)
    return tuple(round(time / MICROSECOND, 3) for time in times)


def test_a_gpu_is_judged_by_its_kernels() -> None:
    known = trace(trace_text(gpu_events()))
    assert approximately(known) == (1000, 600, 300, 50, 100, 150)
    assert (known.file, known.rank, known.on_gpu, known.steps, known.problem) == (NAME, 3, True, 1, None)


def test_without_a_gpu_the_operators_and_the_process_groups_count() -> None:
    known = [
        event("aten::linear", 0, 100, "cpu_op"),
        event("aten::addmm", 10, 80, "cpu_op"),
        event("autograd::engine::evaluate_function: AddmmBackward0", 100, 900, "cpu_op"),
        event("gloo:all_reduce", 50, 150, "user_annotation"),
        event("c10d::allreduce_", 45, 10, "cpu_op"),
        event("Optimizer.step#SGD.step", 0, 5000, "user_annotation"),
    ]
    summary = trace(trace_text(known))
    assert (summary.on_gpu, approximately(summary)) == (False, (200, 100, 155, 0, 55, 0))


@pytest.mark.parametrize(
    ("text", "file", "rank"),
    [
        (trace_text([], 5), "x.json", 5),
        (trace_text([], None), "a/rank_07/trace_rank12.json.gz", 12),
        (trace_text([], None), "host_4242.1796.pt.trace.json", None),
        (trace_text([], 5), "rank_03_trace.json", 5),
    ],
)
def test_the_rank_is_that_of_the_trace_or_of_its_name(text: str, file: str, rank: int | None) -> None:
    assert trace(text, file).rank == rank


def test_a_trace_that_is_cut_off_has_what_comes_before() -> None:
    whole = trace_text(gpu_events())
    problems = {trace(whole[:end]).problem for end in range(len(whole) - 1)}
    assert problems == {"empty", "foreign", "damaged", None}
    cut = trace(whole[: whole.index("Memcpy")])
    assert (cut.problem, approximately(cut)) == ("damaged", (800, 600, 300, 0, 100, 0))
    damaged = trace(whole.replace('"Memcpy DtoH"', '"Memcpy'))
    assert (damaged.problem, damaged.window_s > 0) == ("damaged", True)


@pytest.mark.parametrize("text", ["{}", "[]", "x", '{"traceEvents": 7}', '{"traceEvents": []}', trace_text([], None)])
def test_what_is_no_trace_has_nothing(text: str) -> None:
    assert trace(text) == TraceSummary(NAME, 3, problem="foreign")
    assert trace("") == TraceSummary(NAME, 3, problem="empty")


def test_values_that_somebody_edited_do_not_count() -> None:
    values: list[Any] = [None, [], {}, "1", True, -1, 1e300, float("nan"), 10**400]
    for value in values:
        for name in ("ph", "cat", "name", "ts", "dur"):
            events: list[Any] = [*gpu_events(), {**event("x", 0, 1), name: value}, 7]
            damaged = trace(trace_text(events))
            assert damaged.window_s == pytest.approx(1000 * MICROSECOND) or value == -1


def test_events_that_lie_across_two_parts_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = trace_text([*gpu_events(), event("é" * 50, 0, 1)])
    whole = trace(text)
    for part in (199, 200, 257):
        monkeypatch.setattr(events, "PART", part)
        assert trace(text) == whole


def test_many_intervals_are_their_union(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "MOST", 10)
    source = random.Random(7)
    parts = [(begin, begin + source.randrange(1, 9)) for begin in (source.randrange(500) for _part in range(300))]

    def covered(known: Sequence[tuple[float, float]]) -> set[int]:
        return {tick for begin, end in known for tick in range(int(begin), int(end))}

    halves = []
    for half in (parts[:30], parts[150:180]):
        union = Intervals()
        for begin, end in half:
            union.add(begin, end)
        halves.append(union.union())
        assert (length(halves[-1]), covered(halves[-1])) == (len(covered(half)), covered(half))
    assert overlap(*halves) == len(covered(parts[:30]) & covered(parts[150:180]))


def test_the_text_of_a_trace_is_json() -> None:
    assert len(json.loads(trace_text(gpu_events()))["traceEvents"]) == 7
