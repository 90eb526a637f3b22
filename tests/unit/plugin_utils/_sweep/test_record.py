# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what a sweep is, and of the file that keeps it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.tests.support.requests import inventory, make
from ansible_collections.muster.train.tests.support.screens import errors

AXES = {"channels": [28, 42], "env.NCCL_PROTO": ["Simple", "LL128"]}
DEFAULTS = {"script": "train.py"}


def request(axes: object = None, **parameters: Any) -> Any:
    extra_vars = {"sweep": axes or AXES, **parameters}
    return make(extra_vars, verb="sweep", defaults=DEFAULTS, nodes=inventory("node0", "node1"))


def test_a_sweep_is_planned_from_its_request() -> None:
    sweep = record.plan_sweep(request(label="nccl", repeat=2))
    assert sweep.sweep_id == "sweep_20261120_143052_nccl"
    assert [(point.number, point.repeat, point.label) for point in sweep.points[:3]] == [
        (1, 1, "point1.1"),
        (1, 2, "point1.2"),
        (2, 1, "point2.1"),
    ]
    assert sweep.points[2].parameters == {"channels": 28, "env.NCCL_PROTO": "LL128"}
    assert len({point.key for point in sweep.points}) == 8
    assert {point.outcome for point in sweep.points} == {record.PENDING}


@pytest.mark.parametrize(
    "other",
    [{"label": "b"}, {"time_limit": 60}, {"repeat": 2}, {"axes": {"channels": [28, 42]}}, {"env": {"X": "1"}}],
)
def test_another_setting_makes_another_sweep(other: dict[str, Any]) -> None:
    assert record.plan_sweep(request(**other)).key != record.plan_sweep(request()).key


@pytest.mark.parametrize(
    "same",
    [
        *({"shuffle": True}, {"objective": "-tokens_per_s"}, {"max_failures": 1}, {"pause": 5}, {"preflight": False}),
        *({"confirm_points": True}, {"output": "json"}, {"wait": 60}, {"sync": True}),
        *(
            {"search": "tpe", "objective": "loss"},
            {"search": "random", "trials": 2},
            {"prune": True, "objective": "loss"},
        ),
    ],
)
def test_how_it_is_run_does_not(same: dict[str, Any]) -> None:
    assert record.plan_sweep(request(**same)).key == record.plan_sweep(request()).key


@pytest.mark.parametrize(
    ("trials", "asked"),
    [
        (None, {}),
        (2, {"search": "random"}),
        (2, {"search": "random", "repeat": 3}),
        (4, {"search": "random", "trials": 4}),
    ],
)
def test_how_many_combinations_are_tried(trials: int | None, asked: dict[str, Any]) -> None:
    sweep = record.plan_sweep(request(**asked))
    assert sweep.trials == trials
    assert sweep.unfinished == (trials or 4) * asked.get("repeat", 1)


def test_a_file_of_an_earlier_version_is_that_of_a_grid() -> None:
    sweep = record.plan_sweep(request())
    dumped = [
        line for line in record.dump(sweep).splitlines() if not re.match(r"\s*(search|trials|trial|curve):", line)
    ]
    assert record.load("\n".join(dumped)) == sweep


def test_a_point_is_launched_with_what_was_given_and_its_own_values() -> None:
    asked = request(time_limit=60, label="nccl", env={"MINE": "1"})
    point = record.plan_sweep(asked).points[0]
    assert record.launch_parameters(asked, point.parameters) == {
        "channels": 28,
        "time_limit": 60,
        "env": {"MINE": "1", "NCCL_PROTO": "Simple"},
    }


def test_the_clusters_environment_stays_where_a_point_has_a_variable() -> None:
    asked = make({"sweep": {"env.A": ["1"]}}, verb="sweep", defaults={**DEFAULTS, "env": {"B": "2"}})
    assert record.launch_parameters(asked, {"env.A": "1"}) == {"env": {"B": "2", "A": "1"}}


def test_how_a_value_is_typed_does_not_make_another_sweep() -> None:
    typed = record.plan_sweep(request({"channels": ["28"], "time_limit": ["5m", 60]}))
    assert typed.key == record.plan_sweep(request({"channels": [28], "time_limit": [300, "60s"]})).key
    assert typed.axes == {"channels": [28], "time_limit": [300, 60]}


def test_a_run_id_is_known_before_the_launch() -> None:
    asked, now = request(), datetime(2026, 11, 20, 14, 31, tzinfo=UTC)
    point = record.plan_sweep(asked).points[2]
    assert record.new_run_id(asked, point, now, "3f9a") == "multinode_42ch_autoth_20261120_143100_point3.1_3f9a"


def test_the_file_has_all_of_it() -> None:
    sweep = record.plan_sweep(request())
    sweep = sweep.with_point(replace(sweep.points[1], outcome=record.FAILED, why="n1: \u2028 {{ x }}", elapsed_s=1.5))
    assert record.load(record.dump(sweep)) == sweep
    assert record.count_outcomes(sweep.points) == {"failed": 1, "pending": 3}
    assert len(record.unfinished(sweep.points)) == 4


def test_a_repeat_that_ended_leaves_the_others_of_its_combination_to_run() -> None:
    sweep = record.plan_sweep(request(repeat=2))
    sweep = sweep.with_point(replace(sweep.points[2], outcome=record.SUCCEEDED))
    assert [point.label for point in record.unfinished(sweep.points)] == [
        *("point1.1", "point1.2", "point2.2", "point3.1", "point3.2", "point4.1", "point4.2")
    ]


NO_SWEEPS = ("", "[]", "a: 1", "points: 3", "{", "x: !!python/object:os.system {}", "[" * 5000)


def test_another_file_is_not_a_sweep() -> None:
    assert len(list(errors(record.load, NO_SWEEPS))) == len(NO_SWEEPS)
