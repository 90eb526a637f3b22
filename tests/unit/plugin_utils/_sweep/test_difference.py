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
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Sweep
from ansible_collections.muster.train.tests.support.sweep_parts import earlier_sweep, sweep


def by_values(difference: SweepDifference) -> dict[tuple[str, str], CombinationDifference]:
    return {
        (str(known.parameters["channels"]), known.parameters["env.NCCL_PROTO"]): known
        for known in difference.combinations
    }


def single(whole: Sweep) -> Sweep:
    """Return a sweep without repeats."""
    return replace(whole, points=[point for point in whole.points if point.repeat == 1])


WHOLE = compare_sweeps(sweep(), earlier_sweep())
SINGLE = compare_sweeps(single(sweep()), single(earlier_sweep()))
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


def test_a_change_is_that_of_the_mean_in_percent_against_the_noise_of_all_repeats() -> None:
    assert WHOLE.noise_percent == pytest.approx(100 * 0.1 / 2.3, abs=0.01)
    assert WHOLE.repeats == 16
    changed = by_values(WHOLE)["28", "Simple"]
    assert changed.runs is not None and changed.other is not None
    assert (changed.runs.mean, changed.runs.least, changed.runs.greatest, changed.runs.count) == (3.05, 3.0, 3.1, 2)
    assert changed.change_percent == pytest.approx(100 * (3.05 - 4.01) / 4.01, abs=0.01)
    failed = by_values(WHOLE)["42", "Simple"].runs
    assert failed is not None and (failed.mean, failed.count, failed.outcome) == (None, 0, "failed")


def test_the_axes_have_the_values_of_both() -> None:
    assert WHOLE.axes == {
        "channels": [28, 42, 56, 70],
        "env.NCCL_PROTO": ["LL128", "Simple"],
    }


def test_without_repeats_the_noise_is_not_known() -> None:
    assert (SINGLE.noise_percent, SINGLE.repeats) == (None, 0)
    assert by_values(SINGLE)["28", "LL128"].effect == "better"


def test_the_largest_may_be_the_best() -> None:
    turned: dict[str, Any] = {"objective": "-loss"}
    assert by_values(compare_sweeps(sweep(**turned), earlier_sweep(**turned)))["28", "Simple"].effect == "worse"


def test_a_change_from_zero_has_no_percentage() -> None:
    whole = single(sweep())
    zeros = replace(whole, points=[replace(point, value=0.0) for point in whole.points])
    effects = {known.effect for known in compare_sweeps(zeros, zeros).combinations}
    changes = {known.change_percent for known in compare_sweeps(whole, zeros).combinations}
    assert (effects, changes) == ({"same"}, {None})


def test_whole_seconds_may_differ_by_more_than_they_show() -> None:
    seconds = {"objective": "elapsed_s"}
    points = [replace(point, value=100.0) for point in sweep().points]
    difference = compare_sweeps(sweep(points=points, **seconds), earlier_sweep(points=[], **seconds))
    assert difference.noise_percent == 1.0


def test_sweeps_over_other_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="threads"):
        compare_sweeps(sweep(), OTHER_AXES)
