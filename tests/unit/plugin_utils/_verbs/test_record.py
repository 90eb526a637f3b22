# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of a run: which files, and where `latest` leads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos
from ansible_collections.muster.train.plugins.plugin_utils._verbs.record import Experiment, record_run
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Symlink
from ansible_collections.muster.train.tests.support.verbs import play_of

RUN_ID = "multinode_42ch_autoth_20261120_143052"
NEXT_ID = "multinode_42ch_autoth_20261120_150000"
PLAN: dict[str, Any] = {
    "run_id": RUN_ID,
    "nonce": "a" * 32,
    "created": "2026-11-20T14:30:52Z",
    "parameters": {"channels": {"value": 42, "origin": "-e channels", "layer": "extra_vars"}},
    "nodes": ["node0"],
    "world_size": 2,
}


def answer(phase: str, **more: Any) -> dict[str, Any]:
    run = {"node": "node0", "run_id": RUN_ID, "phase": phase, "why": None, "nproc": 2, "world_size": 2, **more}
    return {"run": {"nonce": "a" * 32, **run}}


def recorded(experiments: Path, result: object, run_id: str = RUN_ID, **asked: Any) -> Experiment:
    """Experiment a run by the answer of its node, and write the files that differ."""
    play = play_of("collect", {"node0": {}}, experiments=str(experiments))
    record = record_run(play, read_infos([("node0", result)]), run_id, **asked)
    for file in record.files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text)
    return record


def names(record: Experiment) -> list[str]:
    return [file.path.name for file in record.files]


def document(experiments: Path) -> Mapping[str, Any]:
    return dict(yaml.safe_load((experiments / RUN_ID / "run.yml").read_text(encoding="utf-8")))


def test_a_launch_is_recorded_with_its_plan(tmp_path: Path) -> None:
    record = recorded(tmp_path / "experiments", answer("running"), plan=PLAN)
    assert (names(record), record.home) == (["plan.json", "run.yml"], tmp_path / "experiments" / RUN_ID)
    assert all(file.is_private for file in record.files)
    assert json.loads(record.files[0].text) == PLAN
    assert document(tmp_path / "experiments")["verdict"] == "running"
    assert document(tmp_path / "experiments")["parameters"] == PLAN["parameters"]
    again = recorded(tmp_path / "experiments", answer("running"), plan=PLAN)
    assert [file.text for file in again.files] == [file.text for file in record.files[1:]]


def test_the_phase_of_a_launch_counts_before_that_of_the_answers(tmp_path: Path) -> None:
    recorded(tmp_path, answer("waiting"), plan=PLAN, phase="running")
    assert document(tmp_path)["verdict"] == "running"


def test_a_look_at_a_run_is_recorded_where_the_run_is_known(tmp_path: Path) -> None:
    assert recorded(tmp_path, answer("succeeded"), only_known=True).home is None
    recorded(tmp_path, answer("running"), plan=PLAN)
    recorded(tmp_path, answer("succeeded", exit_code=0), only_known=True)
    assert document(tmp_path)["verdict"] == "succeeded"


def test_a_look_changes_nothing_in_the_record_of_an_end(tmp_path: Path) -> None:
    recorded(tmp_path, answer("succeeded", exit_code=0), plan=PLAN)
    assert names(recorded(tmp_path, answer("succeeded", elapsed_s=1.0), only_known=True)) == []
    (tmp_path / RUN_ID / "plan.json").unlink()
    again = answer("running", nonce="b" * 32, created="2026-11-20T15:00:00Z")
    assert names(recorded(tmp_path, again, only_known=True)) == ["run.yml"]
    assert document(tmp_path)["verdict"] == "running", "another launch of this run"


def test_a_program_reads_the_verdict_of_a_failed_run(tmp_path: Path) -> None:
    failure = {"rank": 1, "exit_code": 1, "exception": "ValueError", "message": "no data"}
    result = recorded(tmp_path, answer("failed", failures=[failure], exit_code=1)).to_dict()
    verdict = result["verdict"]
    assert (verdict["verdict"], verdict["node"], verdict["rank"]) == ("failed", "node0", 1)
    assert (verdict["cause"]["exception"], verdict["exit_codes"]) == ("ValueError", {"node0": 1})
    assert result["experiment"] == str(tmp_path / RUN_ID)


def test_the_end_of_a_run_changes_its_record_alone(tmp_path: Path) -> None:
    recorded(tmp_path, answer("running"), plan=PLAN)
    assert names(recorded(tmp_path, answer("succeeded", exit_code=0, ended="2026-11-20T14:31:24Z"))) == ["run.yml"]
    assert (document(tmp_path)["verdict"], document(tmp_path)["exit_codes"]) == ("succeeded", {"node0": 0})
    assert document(tmp_path)["parameters"] == PLAN["parameters"]


def test_a_plan_that_was_collected_is_used(tmp_path: Path) -> None:
    (tmp_path / RUN_ID).mkdir()
    (tmp_path / RUN_ID / "plan.json").write_text(json.dumps(PLAN))
    recorded(tmp_path, answer("succeeded"))
    assert document(tmp_path)["parameters"] == PLAN["parameters"]


@pytest.mark.parametrize("text", ["{", "[1]", "\udcff"])
def test_a_plan_or_record_that_is_broken_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / RUN_ID).mkdir()
    for name in ("plan.json", "run.yml"):
        (tmp_path / RUN_ID / name).write_bytes(text.encode(errors="surrogateescape"))
    recorded(tmp_path, answer("succeeded"))
    assert document(tmp_path)["verdict"] == "succeeded"


def test_without_an_answer_there_is_no_verdict(tmp_path: Path) -> None:
    assert recorded(tmp_path, None, plan=PLAN).verdict is None
    assert document(tmp_path)["verdict"] is None


@pytest.mark.parametrize("run_id", ["../elsewhere", "latest", "None"])
def test_what_is_not_a_run_id_makes_no_directory(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UserError, match="run_id"):
        recorded(tmp_path, None, run_id)


def test_of_a_run_that_nobody_knows_nothing_is_written(tmp_path: Path) -> None:
    record = recorded(tmp_path, answer("not_found"))
    assert (names(record), record.home) == ([], None)
    recorded(tmp_path, answer("succeeded"))
    assert recorded(tmp_path, answer("not_found")).home == tmp_path / RUN_ID


def test_strings_from_hosts_are_written_as_they_are(tmp_path: Path) -> None:
    why = "{{ lookup('pipe', 'touch evaluated') }}"
    recorded(tmp_path, answer("failed", why=why))
    assert document(tmp_path)["why"] == f"node0: {why}"


def test_only_a_launch_is_the_newest(tmp_path: Path) -> None:
    assert recorded(tmp_path, answer("succeeded")).links == [Symlink(tmp_path / "latest", RUN_ID, is_newest=False)]
    launched = recorded(tmp_path, None, NEXT_ID, plan={**PLAN, "run_id": NEXT_ID})
    assert launched.links == [Symlink(tmp_path / "latest", NEXT_ID, is_newest=True)]
