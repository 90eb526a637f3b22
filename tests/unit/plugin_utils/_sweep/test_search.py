# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which combinations of a known surface are tried, and of the study that suggests them."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep import study
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.search import choose
from ansible_collections.muster.train.plugins.plugin_utils._sweep.study import Study
from ansible_collections.muster.train.tests.support.screens import refusal
from ansible_collections.muster.train.tests.support.surfaces import SIZE, run_trials, succeed, surface_sweep

KEYS = [f"sweep {number}" for number in range(12)]
THIRD = SIZE // 3


def order(sweep: Sweep) -> list[int]:
    """Return the combinations in the order of their trials."""
    return list(dict.fromkeys(point.number for point in sweep.chosen))


def has_found(sweep: Sweep) -> bool:
    return any(point.value == 0 for point in sweep.points)


def searched(home: Path, key: str, count: int = THIRD, **changes: Any) -> Sweep:
    home.mkdir(exist_ok=True)
    sweep = surface_sweep("tpe", THIRD, key, **changes)
    return run_trials(sweep, Study(home, sweep), count)


def test_tpe_finds_the_best_in_a_third_of_the_grid(tmp_path: Path) -> None:
    tpe = [has_found(searched(tmp_path / key, key)) for key in KEYS]
    by_chance = [has_found(run_trials(surface_sweep("random", THIRD, key), None, THIRD)) for key in KEYS]
    assert sum(tpe) >= 10
    assert sum(by_chance) <= 6


@pytest.mark.parametrize("search", ["tpe", "random"])
def test_a_search_tries_no_combination_twice_and_ends(tmp_path: Path, search: str) -> None:
    sweep = surface_sweep(search, SIZE)
    sweep = run_trials(sweep, Study(tmp_path, sweep) if search == "tpe" else None, SIZE)
    assert sorted(order(sweep)) == list(range(1, SIZE + 1))
    assert (sweep.left, sweep.unfinished) == (0, 0)


def test_the_largest_may_be_the_best(tmp_path: Path) -> None:
    sweep = searched(tmp_path, "k", objective="-loss")
    values = sorted((point.value for point in map(succeed, sweep.points) if point.value is not None), reverse=True)
    assert max(point.value or 0 for point in sweep.points) in values[:2]


def test_repeats_of_a_combination_are_one_trial(tmp_path: Path) -> None:
    sweep = searched(tmp_path, "k", 3, repeat=2)
    assert [point.trial for point in sweep.chosen] == [1, 1, 2, 2, 3, 3]
    assert sweep.left == 2 * (THIRD - 3)


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000] + b"\xff" * 9000)


def drop_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE trial_params")
    connection.commit()
    connection.close()


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [None, Path.unlink, damage, drop_table, empty])
def test_a_search_continues_as_if_it_had_not_ended(
    tmp_path: Path, harm: Callable[[Path], None] | None, whole: list[int]
) -> None:
    sweep = searched(tmp_path, KEYS[0], 9)
    if harm:
        harm(tmp_path / study.FILE)
    sweep = run_trials(sweep, Study(tmp_path, sweep), THIRD - 9)
    assert order(sweep) == whole


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    """The order of a search that is not interrupted."""
    return order(searched(tmp_path_factory.mktemp("whole"), KEYS[0]))


def trials(home: Path, sweep: Sweep) -> list[tuple[str, str]]:
    """Return the run and the state of each trial of a study."""
    return [(trial.user_attrs["run_id"], trial.state.name) for trial in Study(home, sweep)._study.get_trials()]


def test_a_study_that_has_all_runs_is_kept(tmp_path: Path) -> None:
    sweep = searched(tmp_path, "k", 3)
    path = tmp_path / study.FILE
    curved = sweep.with_point(replace(sweep.points[-1], trial=4, outcome="pruned", curve={"3": 1.5, "2": 2.0}))
    with path.open() as first:  # no other file has its place meanwhile
        for known in (sweep, curved, curved):
            assert len(trials(tmp_path, known)) == len(known.tried)
            assert os.path.samestat(path.stat(), os.fstat(first.fileno()))
        trials(tmp_path, sweep)
        assert not os.path.samestat(path.stat(), os.fstat(first.fileno()))


def test_the_records_are_the_truth(tmp_path: Path) -> None:
    sweep = searched(tmp_path, "k", 4)
    before = trials(tmp_path, sweep)
    assert [state for _run, state in before] == ["COMPLETE"] * 4
    again = sweep.with_point(replace(sweep.chosen[1], run_id="again", value=7.0))
    assert trials(tmp_path, again)[1] == ("again", "COMPLETE")
    assert trials(tmp_path, replace(again, objective="-loss")) == trials(tmp_path, again)


@pytest.mark.parametrize(
    ("outcome", "value", "states"),
    [
        ("failed", None, ["PRUNED"]),
        ("timed_out", None, ["PRUNED"]),
        ("pruned", None, ["PRUNED"]),
        ("succeeded", None, ["FAIL"]),
        *((outcome, None, []) for outcome in ("pending", "running", "stopped", "refused", "lost")),
    ],
)
def test_what_became_of_a_run_tells_of_its_values(
    tmp_path: Path, outcome: str, value: float | None, states: list[str]
) -> None:
    sweep = surface_sweep("tpe", 3)
    point = replace(sweep.points[0], trial=1, outcome=outcome, value=value)
    assert [state for _run, state in trials(tmp_path, sweep.with_point(point))] == states
    added = Study(tmp_path, sweep)
    added.update(sweep.with_point(point))
    assert len(added._study.get_trials()) == len(states)


def test_a_search_stays_away_from_what_fails(tmp_path: Path) -> None:
    """Half of the surface has no value, as where memory runs out; the best of the other half is found."""

    def end(point: Point) -> Point:
        return replace(succeed(point), outcome="failed", value=None) if point.parameters["x"] > 4 else succeed(point)

    sweep = surface_sweep("tpe", THIRD)
    sweep = run_trials(sweep, Study(tmp_path, sweep), THIRD, end)
    assert sum(point.outcome == "failed" for point in sweep.chosen) < THIRD * 3 / 8
    assert min(point.value for point in sweep.chosen if point.value is not None) == 3


def test_values_without_an_order_are_suggested_as_well(tmp_path: Path) -> None:
    axes: dict[str, list[Any]] = {"mode": ["tcp", "rdma"], "rocprof": [False, True], "env.N": ["nan", "1"], "n": [1]}
    points = [
        Point(number, 1, {"mode": mode, "rocprof": number % 2 == 0, "env.N": "1", "n": 1}, str(number))
        for number, mode in enumerate(["tcp", "rdma", "tcp"], start=1)
    ]
    sweep = Sweep("sweep_1", "k", "", "", "loss", axes, points[:2], "tpe", 2)
    sweep = run_trials(sweep, Study(tmp_path, sweep), 2, lambda point: replace(point, outcome="succeeded", value=1.0))
    assert sorted(order(sweep)) == [1, 2]


@pytest.mark.parametrize("name", ["a b?#", "100%", "{braces}", "sqlite:"])
def test_a_study_may_be_anywhere(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    sweep = searched(home, "k", 2)
    assert (home / study.FILE).is_file()
    assert len(trials(home, sweep)) == 2


def test_chance_needs_no_study() -> None:
    sweep = surface_sweep("random", 2)
    assert [point.number for point in choose(sweep, None)] == [point.number for point in choose(sweep, None)]


def missing_optuna(monkeypatch: pytest.MonkeyPatch, search: str) -> str:
    """Return what is said where Optuna is not installed."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "optuna", None)
        patch.setattr(sys, "executable", "/venv/bin/python")
        return refusal(study.require_optuna, search)


def test_a_controller_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "/venv/bin/python -m pip install optuna" in missing_optuna(monkeypatch, "tpe")
