# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of making the metrics of all ranks few."""

from __future__ import annotations

import math

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import series
from ansible_collections.muster.train.plugins.plugin_utils._report.metrics import Oddity, RankMetrics
from ansible_collections.muster.train.plugins.plugin_utils._report.series import Curve, Remark, TrainingMetrics
from ansible_collections.muster.train.tests.support.report_parts import SLOW, STEPS, line, long_rank, rank_of


def reduce(*ranks: RankMetrics, world_size: int = 0) -> TrainingMetrics:
    return series.reduce(ranks, world_size, {}, 4)


def curve(metrics: TrainingMetrics, name: str) -> Curve:
    known = metrics.curve(name)
    assert known is not None
    return known


def test_few_steps_are_points_of_their_own() -> None:
    metrics = reduce(*(rank_of(rank) for rank in range(4)))
    loss, times = curve(metrics, "loss"), curve(metrics, "step_s")
    assert list(loss.steps) == [*range(1, STEPS + 1)]
    assert (loss.values[0], loss.lows[0], loss.highs[0]) == (4.9, 4.9, 4.9)
    assert (times.values[0], times.lows[0], times.highs[0]) == (0.1, 0.1, 0.16)
    assert curve(metrics, "tokens_per_s").values[-1] == 1000 + STEPS


def test_a_point_has_every_line_of_its_steps() -> None:
    metrics = reduce(*(long_rank(rank, 10_000) for rank in range(2)))
    loss = curve(metrics, "loss")
    assert (len(loss.steps), loss.steps[0], loss.steps[-1]) == (400, 25, 10_000)
    first = [value for rank in range(2) for value in long_rank(rank, 25).losses]
    assert (loss.lows[0], loss.highs[0]) == (min(first), max(first))
    assert min(first) < loss.values[0] < max(first)


def test_ranks_that_write_at_other_steps_share_a_curve() -> None:
    metrics = reduce(rank_of(0, line(0, 1), line(0, 10)), rank_of(1, line(1, 5, loss=9.0)))
    loss = curve(metrics, "loss")
    assert (list(loss.steps), list(loss.values)) == ([1, 5, 10], [4.9, 9.0, 4.0])


def test_lines_in_another_order_and_done_again_are_all_in_the_curve() -> None:
    metrics = reduce(rank_of(0, line(0, 1), line(0, 2), line(0, 3), line(0, 2, loss=2.8)))
    assert [round(value, 9) for value in curve(metrics, "loss").values] == [4.9, 3.8, 4.7]


def test_the_straggler_is_the_rank_below_three_quarters_of_the_fastest() -> None:
    metrics = reduce(*(rank_of(rank) for rank in range(4)))
    assert metrics.stragglers == [SLOW]
    assert [rank.score for rank in metrics.ranks] == [1.0, 1.0, 0.625, 1.0]
    assert list(metrics.of_stragglers) == [SLOW]
    assert metrics.of_stragglers[SLOW].values[0] == 0.16


@pytest.mark.parametrize(("milliseconds", "stragglers"), [(133.0, []), (134.0, [1])])
def test_the_limit_of_a_straggler(milliseconds: float, stragglers: list[int]) -> None:
    slow = rank_of(1, *(line(1, step, step_ms=milliseconds) for step in range(1, 10)))
    assert reduce(rank_of(0), slow).stragglers == stragglers


def test_a_rank_that_has_ended_early_makes_no_stragglers_of_the_others() -> None:
    early = rank_of(0, *(line(0, step, step_ms=0.5) for step in range(1, 6)))
    others = [rank_of(rank, *(line(rank, step, step_ms=100.0) for step in range(1, 12))) for rank in range(1, 4)]
    metrics = reduce(early, *others)
    assert (metrics.stragglers, [rank.score for rank in metrics.ranks]) == ([], [1.0] * 4)


def test_few_step_times_make_no_straggler() -> None:
    metrics = reduce(rank_of(0), rank_of(1, *(line(1, step, step_ms=900.0) for step in range(1, 5))))
    assert (metrics.stragglers, metrics.ranks[1].step_s) == ([], None)


def test_ranks_with_the_same_oddity_are_one_remark() -> None:
    metrics = reduce(
        rank_of(0, line(0, 1, loss=math.nan)),
        rank_of(1, line(1, 1)),
        rank_of(3, line(3, 2, loss=math.inf)),
        world_size=6,
    )
    assert metrics.remarks == [
        Remark("not_finite", [0, 3], 2, Oddity("not_finite", 0, 1, 1.0)),
        Remark("missing", [2, 4, 5], 3, Oddity("missing", 2)),
    ]


def test_without_metrics_there_is_nothing_to_say() -> None:
    assert reduce(world_size=4) == TrainingMetrics([], [], [], {}, None)


def test_an_empty_rank_and_a_metric_that_no_rank_has() -> None:
    metrics = reduce(rank_of(0, {"step": 1, "loss": 2.0}), series_of_nothing(1))
    assert [known.name for known in metrics.curves] == ["loss"]
    assert [(rank.rank, rank.lines, rank.last_loss) for rank in metrics.ranks] == [(0, 1, 2.0), (1, 0, None)]


def series_of_nothing(rank: int) -> RankMetrics:
    return RankMetrics(rank, [], [], [], [], None, [Oddity("empty", rank)])


@pytest.mark.parametrize(("value", "expected"), [(1_234_567.0, 1_234_567), (0.123456789, 0.123457), (3.0, 3)])
def test_numbers_in_files_are_short(value: float, expected: float) -> None:
    assert series.short(value) == expected
