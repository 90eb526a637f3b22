# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `sweep` where it searches, and where it stops runs that are worse, with commands that end at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._sweep import record, study
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs import test_sweep
from ansible_collections.muster.train.tests.unit.plugin_utils._verbs.test_sweep import Commands, outcomes, swept

commands = test_sweep.commands
AXES = {"channels": [1, 2, 3], "threads": [64, 128, 192]}
TPE = {"sweep": AXES, "search": "tpe", "objective": "loss", "trials": 8}


def launched(commands: Commands) -> list[str]:
    return [point for name, point in commands.started if name == "launch"]


def summary(conclusion: Conclusion) -> str:
    [text] = conclusion.closing_lines
    return str(text).strip()


@pytest.mark.parametrize("search", ["tpe", "random"])
def test_as_many_combinations_are_tried_as_were_asked_for(tmp_path: Path, commands: Commands, search: str) -> None:
    conclusion = swept(tmp_path, **{**TPE, "search": search, "trials": 5})
    points = launched(commands)
    assert len(set(points)) == len(points) == 5
    assert summary(conclusion) == "5 of 5 runs succeeded"
    document: Any = conclusion.document
    assert (document["search"], document["trials"]) == (search, 5)
    trials = {f"point{point['number']}.1": point["trial"] for point in document["points"] if point["trial"]}
    assert trials == {point: trial for trial, point in enumerate(points, start=1)}
    assert outcomes(conclusion).count("pending") == 4
    assert outcomes(swept(tmp_path, **{**TPE, "search": search, "trials": 5})) == outcomes(conclusion)
    assert launched(commands) == points, "nothing is left to run"


def test_a_third_is_tried_where_nobody_says_how_many(tmp_path: Path, commands: Commands) -> None:
    swept(tmp_path, sweep=AXES, search="random")
    assert len(launched(commands)) == 3


@pytest.mark.parametrize("is_lost", [False, True])
def test_the_same_command_continues_a_search(tmp_path: Path, commands: Commands, is_lost: bool) -> None:
    swept(tmp_path / "whole", **TPE)
    whole, commands.started = launched(commands), []
    commands.verdicts = {whole[6]: "failed"}
    conclusion = swept(tmp_path, **TPE, max_failures=1)
    assert launched(commands) == whole[:7]
    assert "6 of 8 runs succeeded, 1 failed, 1 not run" in str(conclusion.failure)
    if is_lost:
        [path] = tmp_path.glob(f"experiments/sweep_*/{study.FILE}")
        path.unlink()
    commands.started, commands.verdicts = [], {}
    assert summary(swept(tmp_path, **TPE)) == "8 of 8 runs succeeded"
    assert launched(commands) == whole[6:]


def test_more_trials_and_then_the_grid_continue_the_same_sweep(tmp_path: Path, commands: Commands) -> None:
    swept(tmp_path, **{**TPE, "trials": 3})
    swept(tmp_path, **{**TPE, "trials": 5})
    assert len(launched(commands)) == 5
    assert summary(swept(tmp_path, sweep=AXES)) == "9 of 9 runs succeeded"
    assert len(set(launched(commands))) == len(launched(commands)) == 9
    assert len(list(tmp_path.glob("experiments/sweep_*"))) == 1


def test_a_check_shows_all_combinations_and_makes_no_study(tmp_path: Path, commands: Commands) -> None:
    conclusion = swept(tmp_path, is_checked=True, **TPE)
    assert len([line for line in conclusion.lines if str(line)[:1].isdigit()]) == 9
    assert not (tmp_path / "experiments").exists()


@pytest.mark.parametrize("given", [TPE, {"sweep": AXES, "prune": True, "objective": "loss"}])
def test_without_optuna_nothing_is_started(
    tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match="pip install optuna"):
        swept(tmp_path, **given)
    assert commands.started == []
    assert not list(tmp_path.glob("experiments/sweep_*"))


def test_neither_a_grid_nor_chance_needs_optuna(
    tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert summary(swept(tmp_path, **{**TPE, "search": "random"})) == "8 of 8 runs succeeded"


def show(commands: Commands, losses: dict[int, float]) -> None:
    """Let the launches of points show these losses after half of their steps."""
    for number, loss in losses.items():
        progress = {"step": 50, "total_steps": 100, "loss": loss}
        commands.shown[f"point{number}.1"] = [json.dumps({"phase": "running", "progress": progress})]


PRUNED = {"sweep": {"channels": [1, 2, 3, 4, 5, 6]}, "prune": True, "objective": "loss"}


def test_a_run_that_is_worse_than_the_median_is_stopped_once(tmp_path: Path, commands: Commands) -> None:
    show(commands, {number: 1.0 * number for number in (1, 2, 3, 4)} | {5: 9.0, 6: 0.5})
    conclusion = swept(tmp_path, **PRUNED)
    assert [point for name, point in commands.started if name == "stop"] == ["point5.1"]
    assert outcomes(conclusion) == ["succeeded"] * 4 + ["pruned", "succeeded"]
    assert summary(conclusion) == "5 of 6 runs succeeded, 1 pruned"
    assert conclusion.failure is None
    document: Any = conclusion.document
    pruned = document["points"][4]
    assert (pruned["curve"], pruned["value"]) == ({"5": 9.0}, None)
    assert all(text in pruned["why"] for text in ("9", "50 %", "2.5"))
    count = len(commands.started)
    assert outcomes(swept(tmp_path, **PRUNED)) == outcomes(conclusion)
    assert len(commands.started) == count, "a run that was pruned is not run again"


def test_another_objective_has_pruned_no_run(tmp_path: Path, commands: Commands) -> None:
    show(commands, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 9.0, 6: 0.5})
    assert "pruned" in outcomes(swept(tmp_path, **PRUNED))
    commands.started = []
    conclusion = swept(tmp_path, **{**PRUNED, "objective": "-tokens_per_s"})
    assert (launched(commands), outcomes(conclusion)) == (["point5.1"], ["succeeded"] * 6)
    document: Any = conclusion.document
    assert {point["number"] for point in document["points"] if point["curve"]} == set()


def test_without_prune_no_run_is_stopped(tmp_path: Path, commands: Commands) -> None:
    show(commands, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 9.0, 6: 9.0})
    assert outcomes(swept(tmp_path, **{**PRUNED, "prune": False})) == ["succeeded"] * 6


def test_the_runs_of_an_earlier_command_are_compared_with(tmp_path: Path, commands: Commands) -> None:
    show(commands, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.5, 6: 9.0})
    commands.verdicts = {"point5.1": "failed"}
    assert outcomes(swept(tmp_path, **PRUNED, max_failures=1)) == ["succeeded"] * 4 + ["failed", "pending"]
    commands.verdicts = {}
    [path] = tmp_path.glob(f"experiments/sweep_*/{study.FILE}")
    path.write_bytes(b"damaged")
    assert outcomes(swept(tmp_path, **PRUNED)) == ["succeeded"] * 5 + ["pruned"]


def test_what_else_did_not_succeed_still_fails_the_command(tmp_path: Path, commands: Commands) -> None:
    show(commands, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 9.0})
    commands.verdicts = {"point6.1": "failed"}
    conclusion = swept(tmp_path, **PRUNED)
    assert outcomes(conclusion) == ["succeeded"] * 4 + ["pruned", "failed"]
    assert conclusion.failure is not None
    [sweep] = [record.load(path.read_text()) for path in tmp_path.glob("experiments/sweep_*/sweep.yml")]
    assert sweep.unfinished == 1
