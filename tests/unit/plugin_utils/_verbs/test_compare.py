# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `compare`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.plugins.plugin_utils._verbs import compare as verb
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.compared_runs import write_run
from ansible_collections.muster.train.tests.support.sweep_parts import sweep
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

FIRST, SECOND, THIRD = (f"train_20261120_1{hour}0000" for hour in range(3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for hour, (run_id, channels) in enumerate(((FIRST, 8), (SECOND, 42), (THIRD, 8))):
        write_run(tmp_path, run_id, channels, 2.0 + hour, created=f"2026-11-20T1{hour}:00:00Z", accuracy=hour)
    return tmp_path


def compared(folder: Path, **parameters: Any) -> dict[str, Any]:
    conclusion = verb.report.conclusion(play_of("compare", {}, parameters, experiments=str(folder), run_id=None))
    assert texts(conclusion)
    document = documents.document("compare", None, None, conclusion.document or {})
    assert schemas.errors(document) == []
    return document


def test_runs_that_are_named_are_compared_in_their_order(folder: Path) -> None:
    document = compared(folder, runs=[SECOND, FIRST])
    assert (document["folder"], document["runs"]) == (str(folder), [SECOND, FIRST])
    assert {(item["part"], item["name"]): item["values"] for item in document["differences"]} == {
        ("parameters", "channels"): [42, 8],
        ("environment", "A"): ["42", "8"],
    }
    assert [(item["name"], item["changes_percent"]) for item in document["metrics"]] == [
        ("loss", [None, -33.33]),
        ("accuracy", [None, -100.0]),
    ]


def test_the_newest_runs(folder: Path) -> None:
    assert compared(folder, last=2)["runs"] == [SECOND, THIRD]
    document = compared(folder, last=20)
    assert (document["runs"], document["repeats"]) == ([FIRST, SECOND, THIRD], [[FIRST, THIRD]])


def test_what_a_user_wrote_does_not_reach_the_terminal(folder: Path) -> None:
    evil = {"\x1b[2J": {"value": "\x1b]0;x\x07", "layer": "default"}}
    write_run(folder, "train_20261120_130000", 8, 2.0, parameters=evil, **{"\u202enumber": 7})
    compared(folder, runs=[FIRST, "train_20261120_130000"])


def test_one_run_cannot_be_compared(tmp_path: Path) -> None:
    write_run(tmp_path, FIRST, 8, 2.0)
    with pytest.raises(UserError, match=FIRST):
        compared(tmp_path, last=2)
    with pytest.raises(UserError, match=r"muster\.train\.launch$"):
        compared(tmp_path / "none", last=2)


def test_a_run_that_is_not_there_is_refused_with_the_nearest(folder: Path) -> None:
    with pytest.raises(UserError, match=f"train_20261120_110001.*'{SECOND}'"):
        compared(folder, runs=[FIRST, "train_20261120_110001"])


def test_the_other_repeats_of_a_sweep_are_the_noise(tmp_path: Path) -> None:
    planned = sweep()
    points = [replace(point, run_id=f"x_20261120_143052_point{point.label}") for point in planned.points]
    (tmp_path / record.FILE).write_text(record.dump(replace(planned, points=points)))
    first, *_others = [point for point in points if point.number == 1]
    other = next(point for point in points if point.number == 2)
    for point in points:
        if point.outcome == record.SUCCEEDED and point.label != "point2.2":
            write_run(tmp_path, str(point.run_id), point.number, point.value or 0.0, label=point.label)
    document = compared(tmp_path, runs=[first.run_id, other.run_id])
    assert document["repeats"] == [[point.run_id for point in points if point.number == 1]]
    [loss] = document["metrics"]
    assert (loss["noise"], loss["above_noise"]) == (0.1, [None, True])
