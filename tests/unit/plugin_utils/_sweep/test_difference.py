# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the difference of two sweeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep.difference import (
    CombinationDifference,
    SweepDifference,
    compare_sweeps,
)
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep
from ansible_collections.muster.train.tests.support.sweep_parts import earlier_sweep, sweep


def by_values(difference: SweepDifference) -> dict[tuple[str, str], CombinationDifference]:
    return {
        (str(known.parameters["channels"]), known.parameters["env.NCCL_PROTO"]): known
        for known in difference.combinations
    }


def single(whole: Sweep) -> Sweep:
    """Return a sweep without repeats."""
    return replace(whole, points=[point for point in whole.points if point.repeat == 1])


def compare(values: dict[int, list[float]], before: dict[int, list[float]]) -> SweepDifference:
    """Return the difference of two sweeps by their speeds, the runs of each number of channels."""
    first, second = (
        {
            "axes": {"channels": [*runs]},
            "objective": "-tokens_per_s",
            "points": [
                Point(number, repeat, {"channels": channels}, f"{number}.{repeat}", "succeeded", value=value)
                for number, (channels, speeds) in enumerate(runs.items(), start=1)
                for repeat, value in enumerate(speeds, start=1)
            ],
        }
        for runs in (values, before)
    )
    return compare_sweeps(sweep(**first), earlier_sweep(**second))


def effects(difference: SweepDifference) -> dict[int, str]:
    return {known.parameters["channels"]: known.effect for known in difference.combinations}


def noises(difference: SweepDifference) -> dict[int, float | None]:
    return {known.parameters["channels"]: known.noise_percent for known in difference.combinations}


WHOLE = compare_sweeps(sweep(), earlier_sweep())
SINGLE = compare_sweeps(single(sweep()), single(earlier_sweep()))
EQUAL = compare({14: [1001.0, 1001.0], 28: [998.0]}, {14: [1000.0], 28: [1000.0]})
ONE_GROUP = compare({14: [1001.0, 1003.0], 28: [998.0]}, {14: [1000.0], 28: [1000.0]})
OTHER_AXES = earlier_sweep(axes={"channels": [28], "threads": [256]})


def test_points_are_matched_by_their_settings_however_they_were_typed() -> None:
    known = by_values(WHOLE)
    assert {values: difference.effect for values, difference in known.items()} == {
        ("28", "LL128"): "within_noise",
        ("28", "Simple"): "better",
        ("42", "LL128"): "worse",
        ("42", "Simple"): "unknown",  # it has failed
        ("56", "LL128"): "added",
        ("56", "Simple"): "added",
        ("70", "LL128"): "absent",
    }


def test_a_change_is_that_of_the_mean_in_percent_against_the_noise_of_its_own_repeats() -> None:
    changed = by_values(WHOLE)["28", "Simple"]
    assert changed.noise_percent == pytest.approx(100 * 0.1 / 3.05, abs=0.01)
    assert changed.runs is not None and changed.other is not None
    assert (changed.runs.mean, changed.runs.least, changed.runs.greatest, changed.runs.count) == (3.05, 3.0, 3.1, 2)
    assert changed.change_percent == pytest.approx(100 * (3.05 - 4.01) / 4.01, abs=0.01)
    failed = by_values(WHOLE)["42", "Simple"].runs
    assert failed is not None and (failed.mean, failed.count, failed.outcome) == (None, 0, "failed")


def test_one_noisy_combination_hides_no_other() -> None:
    before = {channels: [1000.0, 1001.0, 999.0] for channels in (14, 28, 42)}
    after = {14: [800.0, 801.0, 799.0], 28: [800.0, 801.0, 799.0], 42: [1000.0, 999.0, 700.0]}
    difference = compare(after, before)
    assert effects(difference) == {14: "worse", 28: "worse", 42: "within_noise"}
    assert noises(difference) == {14: 0.25, 28: 0.25, 42: 33.35}


def test_what_has_no_repeats_is_judged_by_the_median_of_those_that_have_some() -> None:
    before = {14: [1000.0, 1002.0], 28: [1000.0, 1010.0], 42: [1000.0, 1100.0], 56: [1000.0], 70: [1000.0]}
    difference = compare({14: [1001.0], 28: [1005.0], 42: [1050.0], 56: [1009.0], 70: [1011.0]}, before)
    assert (difference.noise_percent, difference.noise_groups) == (1.0, 3)
    assert {known: effects(difference)[known] for known in (56, 70)} == {56: "within_noise", 70: "better"}


def test_one_group_of_equal_repeats_says_nothing_of_the_noise() -> None:
    assert (EQUAL.noise_percent, EQUAL.noise_groups, {*noises(EQUAL).values()}) == (None, 1, {None})
    repeated = compare({14: [1001.0, 1001.0], 28: [998.0]}, {14: [1000.0, 1000.0], 28: [1000.0]})
    assert (repeated.noise_percent, noises(repeated)) == (0.0, {14: 0.0, 28: 0.0}), "two groups are no chance"


def test_the_axes_have_the_values_of_both() -> None:
    assert WHOLE.axes == {
        "channels": [28, 42, 56, 70],
        "env.NCCL_PROTO": ["LL128", "Simple"],
    }


def test_without_repeats_the_noise_is_not_known() -> None:
    assert (SINGLE.noise_percent, SINGLE.noise_groups) == (None, 0)
    assert by_values(SINGLE)["28", "LL128"].effect == "better"


def test_the_largest_may_be_the_best() -> None:
    turned: dict[str, Any] = {"objective": "-loss"}
    assert by_values(compare_sweeps(sweep(**turned), earlier_sweep(**turned)))["28", "Simple"].effect == "worse"


def test_a_change_from_zero_has_no_percentage() -> None:
    whole = single(sweep())
    zeros = replace(whole, points=[replace(point, value=0.0) for point in whole.points])
    outcomes = {known.effect for known in compare_sweeps(zeros, zeros).combinations}
    changes = {known.change_percent for known in compare_sweeps(whole, zeros).combinations}
    assert (outcomes, changes) == ({"same"}, {None})


def test_whole_seconds_may_differ_by_more_than_they_show() -> None:
    seconds = {"objective": "elapsed_s"}
    points = [replace(point, value=100.0) for point in sweep().points]
    difference = compare_sweeps(sweep(points=points, **seconds), earlier_sweep(points=[], **seconds))
    assert difference.noise_percent == 1.0


def test_sweeps_over_other_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="threads"):
        compare_sweeps(sweep(), OTHER_AXES)
