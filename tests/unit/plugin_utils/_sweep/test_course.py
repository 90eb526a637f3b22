# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of how a run develops, and of which run is clearly worse than others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep.course import Course
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.study import Study


def sample(step: object, value: object, total: object = 100) -> dict[str, Any]:
    return {"phase": "running", "progress": {"step": step, "total_steps": total, "loss": value, "tokens_per_s": value}}


def course_of(samples: Iterable[dict[str, Any]], objective: str = "loss") -> Course:
    course = Course(objective)
    for known in samples:
        course.add(known)
    return course


def sweep_of(finals: Iterable[float], objective: str = "loss") -> Sweep:
    """Return a sweep of runs that have succeeded, with twice the last value after a fifth, 1.5 times in half."""
    points = [
        Point(number, 1, {"x": number}, str(number), "succeeded", f"run_{number}", value=value, trial=number)
        for number, value in enumerate(finals, start=1)
    ]
    points = [replace(point, curve={"2": 2 * point.value, "5": 1.5 * point.value}) for point in points if point.value]
    return Sweep("sweep_1", "k", "", "", objective, {"x": [point.number for point in points]}, points)


def test_the_first_value_at_each_checkpoint_is_kept() -> None:
    course = Course("loss")
    steps = [(9, 9.0), (20, 8.0), (29, 7.0), (50, 5.0), (51, 4.0), (100, 1.0)]
    assert [course.add(sample(step, value)) for step, value in steps] == [False, True, False, True, False, False]
    assert course.curve == {"2": 8.0, "3": 8.0, "4": 8.0, "5": 5.0}


def test_a_run_that_has_succeeded_has_a_value_to_compare_with_everywhere() -> None:
    course = course_of([sample(70, 5.0)])
    course.finish()
    assert course.curve == {"7": 5.0, "8": 5.0, "9": 5.0}
    nothing = course_of([])
    nothing.finish()
    assert nothing.curve == {}


def test_a_run_that_starts_again_keeps_its_values() -> None:
    assert course_of([sample(50, 3.0), sample(20, 9.0), sample(60, 2.0)]).curve == {"5": 3.0, "2": 9.0, "6": 2.0}


@pytest.mark.parametrize("name", ["loss", "-tokens_per_s"])
def test_the_objective_is_what_is_kept(name: str) -> None:
    assert course_of([sample(50, 3.0)], name).curve == {"5": 3.0}


@pytest.mark.parametrize(
    "shown",
    [
        *(
            {},
            {"progress": 7},
            {"progress": {}},
            sample(None, 1.0),
            sample(50, None),
            sample(50, "3"),
            sample("x", 1.0),
        ),
        *(sample(50, 1.0, None), sample(50, 1.0, 0), sample(50, float("nan")), sample(50, 1.0, float("inf"))),
        *(sample(float("nan"), 1.0), sample(-50, 1.0), sample(500, 1.0)),
    ],
)
def test_a_sample_may_show_nothing(shown: dict[str, Any]) -> None:
    assert course_of([shown]).curve == {}


@pytest.mark.parametrize(
    ("objective", "finals", "step", "value", "worse"),
    [
        ("loss", [1.0, 2.0, 3.0, 4.0], 20, 5.1, True),
        ("loss", [1.0, 2.0, 3.0, 4.0], 20, 4.9, False),
        ("loss", [1.0, 2.0, 3.0, 4.0], 50, 3.8, True),
        ("loss", [1.0, 2.0, 3.0, 4.0], 10, 99.0, False),  # too early
        ("loss", [1.0, 2.0, 3.0], 20, 99.0, False),  # too few
        ("loss", [1.0, 2.0, 3.0, 4.0], 30, 99.0, False),  # none of the others is known there
        ("-tokens_per_s", [1.0, 2.0, 3.0, 4.0], 20, 4.9, True),
        ("-tokens_per_s", [1.0, 2.0, 3.0, 4.0], 20, 5.1, False),
    ],
)
def test_what_is_worse_than_the_median(
    tmp_path: Path, objective: str, finals: list[float], step: int, value: float, worse: bool
) -> None:
    study = Study(tmp_path, sweep_of(finals, objective))
    assert study.is_worse(course_of([sample(step, value)], objective).curve) is worse


def test_what_counts_is_the_last_value_and_not_the_best(tmp_path: Path) -> None:
    study = Study(tmp_path, sweep_of([1.0, 2.0, 3.0, 4.0]))
    assert study.is_worse(course_of([sample(20, 3.5), sample(50, 1e6)]).curve)
    assert not study.is_worse(course_of([sample(20, 1e6), sample(50, 3.5)]).curve)


def test_a_run_whose_objective_is_no_number_any_more_has_diverged() -> None:
    course = Course("loss")
    assert [course.add(sample(step, value)) for step, value in ((20, 3.5), (31, float("nan")))] == [True, True]
    assert (course.has_diverged, course.curve) == (True, {"2": 3.5})
    assert not course_of([sample(20, float("inf")), sample(31, 3.0)]).has_diverged


def test_a_run_that_was_pruned_is_not_compared_with(tmp_path: Path) -> None:
    sweep = sweep_of([1.0, 2.0, 3.0, 4.0])
    sweep = sweep.with_point(replace(sweep.points[0], outcome="pruned", value=None))
    assert not Study(tmp_path, sweep).is_worse({"2": 99.0})


LINES = {
    "why a run is pruned": [
        course_of([sample(23, 5.5)]).why_worse(sweep_of([1.0, 2.0, 3.0, 4.0]).points),
        course_of([sample(50, 4100.0)], "-tokens_per_s").why_worse(sweep_of([3e3, 4e3, 5e3, 6e3]).points),
    ]
}


def test_the_reason_has_both_values() -> None:
    assert [text in LINES["why a run is pruned"][0] for text in ("5.5", "20 %", "4 successful runs", " is 5")] == [
        True
    ] * 4
