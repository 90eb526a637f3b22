# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of reading what a rank wrote."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.metrics import Oddity, RankMetrics, read_rank
from ansible_collections.muster.train.tests.support.report_parts import line, rank_of


def oddities(*lines: dict[str, Any]) -> list[Oddity]:
    return list(rank_of(3, *lines).oddities)


def test_a_line_has_step_loss_time_and_speed() -> None:
    known = rank_of(3, line(3, 1), line(3, 2))
    assert (list(known.steps), list(known.losses), known.oddities) == ([1, 2], [4.9, 4.8], [])
    assert (list(known.step_times), known.rate, list(known.rates)) == ([0.1, 0.1], "tokens_per_s", [1001, 1002])


def test_what_a_line_lacks_is_not_known() -> None:
    known = rank_of(3, {"loss": 2.0}, {"step": 5}, {})
    assert list(known.steps) == [1, 5, 6]
    assert [math.isnan(value) for value in known.losses] == [False, True, True]
    assert all(map(math.isnan, [*known.step_times, *known.rates]))
    assert (known.rate, known.oddities) == (None, [])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"step": 1, "step_ms": 250.0}], [0.25]),
        ([{"step": 1, "steps_per_s": 4.0}], [0.25]),
        ([{"step": 1, "time": 100.0}, {"step": 5, "time": 101.0}], [None, 0.25]),
    ],
)
def test_the_time_of_a_step(lines: list[dict[str, Any]], expected: list[float | None]) -> None:
    times = rank_of(3, *lines).step_times
    assert [None if math.isnan(time) else time for time in times] == expected


def test_the_step_of_all_epochs_counts() -> None:
    assert list(rank_of(3, {"step": 9, "global_step": 109}, {"step": 0, "global_step": 110}).steps) == [109, 110]


def test_lines_that_are_not_json_objects_are_counted() -> None:
    known = read_rank(3, [b'{"step": 1}\n', b'{"step": 2, "lo\n', b"\xff\xfe\n", b"[1]\n", b"\n", b'{"step": 3}\n'])
    assert (list(known.steps), known.oddities) == ([1, 3], [Oddity("broken", 3, 3)])


def test_numbers_beyond_those_of_a_program_are_not_known() -> None:
    huge = {"loss": 1e308, "steps_per_s": 1e-320, "tokens_per_s": 1e308}
    metrics = read_rank(0, [json.dumps({"step": 1, **huge}).encode()])
    assert [math.isnan(column[0]) for column in (metrics.losses, metrics.step_times)] == [True, True]
    assert [oddity.kind for oddity in metrics.oddities] == ["not_finite"]


def test_a_loss_that_is_not_a_number_is_counted_and_not_drawn() -> None:
    known = rank_of(3, line(3, 1), line(3, 2, loss=math.nan), line(3, 3, loss=-math.inf))
    assert known.oddities == [Oddity("not_finite", 3, 2, 2.0)]
    assert [math.isnan(loss) for loss in known.losses] == [False, True, True]


@pytest.mark.parametrize("milliseconds", [-3_600_000.0, 0.0, 7_200_000.0])
def test_a_jump_of_the_clock_is_no_step_time(milliseconds: float) -> None:
    lines = [line(3, step) for step in range(1, 9)]
    lines[4]["step_ms"] = milliseconds
    known = rank_of(3, *lines)
    assert known.oddities == [Oddity("clock", 3, 1, 5.0, milliseconds / 1000)]
    assert [math.isnan(time) for time in known.step_times].index(True) == 4


def test_a_jump_of_the_clock_between_two_lines_is_no_step_time() -> None:
    lines = [{"step": step, "time": 1000.0 + step - (3600 if step > 5 else 0)} for step in range(1, 9)]
    assert oddities(*lines) == [Oddity("clock", 3, 1, 6.0, -3599.0)]


def test_a_long_step_is_a_step() -> None:
    assert oddities(*(line(3, step, step_ms=90_000.0 if step == 4 else 30_000.0) for step in range(1, 9))) == []


def test_steps_that_are_done_again_are_noted() -> None:
    assert oddities(*(line(3, step) for step in (1, 2, 3, 2, 3, 4))) == [Oddity("backwards", 3, 1, 2.0, 3.0)]


def test_an_empty_file_is_noted() -> None:
    for lines in ([], [b"\n", b"  \n"]):
        assert read_rank(3, lines).oddities == [Oddity("empty", 3)]


def test_no_text_is_an_exception() -> None:
    source = random.Random(17)
    values = ["NaN", "1e999", "-1", "null", '"a"', "[]", "{}", "true", "1" * 400, "9" * 5000, "0", "1e-300", "12.5"]
    keys = ["step", "global_step", "loss", "step_ms", "steps_per_s", "time", "tokens_per_s"]
    for _round in range(300):
        lines = []
        for _line in range(12):
            pairs = [f'"{source.choice(keys)}": {source.choice(values)}' for _pair in range(source.randrange(5))]
            text = "{" + ", ".join(pairs) + "}\n"
            lines.append(text[: source.randrange(len(text))].encode() if source.random() < 0.2 else text.encode())
        lines.append(source.randbytes(20))
        known: RankMetrics = read_rank(0, lines)
        assert len({len(known.steps), len(known.losses), len(known.step_times), len(known.rates)}) == 1
        assert all(map(math.isfinite, known.steps))
