# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what became of a point, and of the best one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._sweep.outcome import (
    best_of,
    first_error,
    judge_point,
    numbers_of,
    refuse,
)
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point

POINT = Point(1, 1, {"channels": 28}, "k")
RUN: dict[str, Any] = {"verdict": "succeeded", "elapsed_s": 12.0, "loss": {"first": 9.0, "last": 2.5}, "parameters": {}}


def judge(objective: str = "loss", **changes: Any) -> Point | None:
    return judge_point(POINT, "run", yaml.safe_dump({**RUN, **changes}), objective)


def ended(**changes: Any) -> Point:
    point = judge(**changes)
    assert point is not None
    return point


def test_a_run_that_succeeded_has_its_objective() -> None:
    assert ended() == replace(POINT, outcome="succeeded", run_id="run", elapsed_s=12.0, value=2.5)
    assert ended(objective="-first_loss").value == 9.0
    assert ended(objective="other").value is None
    assert ended(loss={"first": 9.0, "last": float("nan")}).value is None


def test_a_run_has_any_value_that_a_list_can_sort_by() -> None:
    progress = {"step": 100, "tokens_per_s": 4100.0}
    assert ended(objective="-tokens_per_s", progress=progress).value == 4100.0
    assert ended(objective="elapsed").value == 12.0


def test_a_run_that_failed_says_where_and_why() -> None:
    why = "n1: rank 3 exited with code 1: ValueError: no loss"
    point = ended(verdict="failed", why=why)
    assert (point.outcome, point.value, point.why) == ("failed", None, why)


@pytest.mark.parametrize(("limit", "outcome"), [(12, "timed_out"), (13, "stopped"), (None, "stopped")])
def test_a_run_that_its_time_limit_stopped(limit: int | None, outcome: str) -> None:
    parameters = {"time_limit": {"value": limit, "origin": "-e time_limit", "layer": "extra_vars"}}
    assert ended(verdict="stopped", why="stopped", parameters=parameters).outcome == outcome


@pytest.mark.parametrize("verdict", ["running", "unknown", "not_found", None, 7])
def test_a_run_that_has_not_ended_has_no_outcome(verdict: object) -> None:
    assert judge(verdict=verdict) is None


@pytest.mark.parametrize("text", [None, "", "[", "[]", "parameters: 3", "verdict: [failed]"])
def test_an_unreadable_record_has_no_outcome(text: str | None) -> None:
    assert judge_point(POINT, "run", text, "loss") is None


def test_a_record_may_have_anything_beside_its_verdict() -> None:
    point = judge_point(POINT, "run", "{verdict: failed, why: 3, elapsed_s: x, parameters: [], progress: 7}", "loss")
    assert point is not None
    assert (point.outcome, point.why, point.elapsed_s) == ("failed", "3", None)


def test_a_launch_that_was_refused_has_the_first_reason() -> None:
    document = {"errors": [{"message": "n1: slot: held"}, {"message": "n2: slot: held"}]}
    assert refuse(replace(POINT, outcome="running"), document) == replace(
        POINT, outcome="refused", why="n1: slot: held"
    )
    assert first_error({})


def test_the_best_has_the_best_mean() -> None:
    values = [(1, 1, 2.0), (1, 2, 4.0), (2, 1, 2.9), (2, 2, 2.9), (3, 1, None)]
    points = [Point(n, r, {"channels": n}, f"{n}.{r}", "succeeded", value=value) for n, r, value in values]
    best = best_of(points, "loss")
    assert best is not None
    assert (best.parameters, best.value, best.least, best.greatest, best.count) == ({"channels": 2}, 2.9, 2.9, 2.9, 2)
    most = best_of(points, "-loss")
    assert most is not None
    assert (most.parameters, most.least, most.greatest) == ({"channels": 1}, 2.0, 4.0)
    assert best_of(points[4:], "loss") is None
    same = [replace(point, value=2.0) for point in points]
    assert [best and best.ties for best in (best_of(same, "loss"), best_of(points, "loss"))] == [2, 0]


def test_the_numbers_of_a_run() -> None:
    assert numbers_of("run", yaml.safe_dump({**RUN, "progress": {"tokens_per_s": 4.0}})) == [
        "elapsed_s",
        "first_loss",
        "loss",
        "tokens_per_s",
    ]
    assert numbers_of("run", "[") == []
