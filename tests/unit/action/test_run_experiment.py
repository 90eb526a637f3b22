# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_experiment`: files written whole, once, and never in check mode."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.action.run_experiment import ActionModule

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


def hosts(phase: str, **more: Any) -> dict[str, Any]:
    run = {"node": "node0", "run_id": RUN_ID, "phase": phase, "why": None, "nproc": 2, "world_size": 2, **more}
    return {"node0": {"launch__info": {"run": {"nonce": "a" * 32, **run}}}}


def run(
    experiments: Path, hostvars: dict[str, Any], check: bool = False, asked: str | None = RUN_ID, **args: Any
) -> dict[str, Any]:
    request = {"verb": "collect", "run_id": asked, "nodes": ["node0"], "experiments": str(experiments)}
    task = MagicMock(args={"request": request, **args}, async_val=0, check_mode=check)
    action = ActionModule(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
    result: dict[str, Any] = action.run(task_vars={"groups": {"nodes": ["node0"]}, "hostvars": hostvars})
    return result


def tree(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*")} if path.exists() else set()


def document(experiments: Path, run_id: str = RUN_ID) -> dict[str, Any]:
    return dict(yaml.safe_load((experiments / run_id / "run.yml").read_text(encoding="utf-8")))


def test_it_runs_once_and_contacts_no_node() -> None:
    assert ActionModule.BYPASS_HOST_LOOP is True
    assert ActionModule._requires_connection is False


def test_a_launch_is_written_down_once(tmp_path: Path) -> None:
    experiments = tmp_path / "not" / "there"
    first = run(experiments, hosts("running"), plan=PLAN)
    assert (first["changed"], first["experiment"]) == (True, str(experiments / RUN_ID))
    assert tree(experiments) == {RUN_ID, f"{RUN_ID}/plan.json", f"{RUN_ID}/run.yml", "latest"}
    assert json.loads((experiments / RUN_ID / "plan.json").read_text()) == PLAN
    assert document(experiments)["verdict"] == "running"
    assert document(experiments)["parameters"] == PLAN["parameters"]
    second = run(experiments, hosts("running"), plan=PLAN)
    assert (second["changed"], second["diff"]) == (False, [])


def test_a_look_at_a_run_is_written_down_where_the_run_is_known(tmp_path: Path) -> None:
    assert run(tmp_path / "experiments", hosts("succeeded"), only_known=True)["experiment"] is None
    assert not (tmp_path / "experiments").exists()
    run(tmp_path, hosts("running"), plan=PLAN)
    run(tmp_path, hosts("succeeded", exit_code=0), only_known=True)
    assert document(tmp_path)["verdict"] == "succeeded"


def test_a_look_changes_nothing_in_the_record_of_an_end(tmp_path: Path) -> None:
    run(tmp_path, hosts("succeeded", exit_code=0), plan=PLAN)
    whole = document(tmp_path)
    assert run(tmp_path, hosts("succeeded", elapsed_s=1.0), only_known=True)["changed"] is False
    assert document(tmp_path) == whole
    (tmp_path / RUN_ID / "plan.json").unlink()
    again = hosts("running", nonce="b" * 32, created="2026-11-20T15:00:00Z")
    assert run(tmp_path, again, only_known=True)["changed"] is True
    assert document(tmp_path)["verdict"] == "running", "another launch of this run"


def test_a_program_reads_the_verdict_of_a_failed_run(tmp_path: Path) -> None:
    failure = {"rank": 1, "exit_code": 1, "exception": "ValueError", "message": "no data"}
    result = run(tmp_path, hosts("failed", failures=[failure], exit_code=1))
    assert (result.get("failed", False), result["run_id"]) == (False, RUN_ID)
    verdict = result["verdict"]
    assert (verdict["verdict"], verdict["node"], verdict["rank"]) == ("failed", "node0", 1)
    assert (verdict["cause"]["exception"], verdict["exit_codes"]) == ("ValueError", {"node0": 1})


def test_check_mode_shows_and_writes_nothing(tmp_path: Path) -> None:
    result = run(tmp_path / "experiments", hosts("running"), check=True, plan=PLAN)
    assert result["changed"] is True
    assert tree(tmp_path) == set()
    assert [Path(diff["after_header"]).name for diff in result["diff"]] == ["plan.json", "run.yml"]
    assert all(diff["before"] == "" for diff in result["diff"])
    assert "verdict: running" in result["diff"][1]["after"]


def test_the_end_of_a_run_changes_run_yml_alone(tmp_path: Path) -> None:
    run(tmp_path, hosts("running"), plan=PLAN)
    plan = (tmp_path / RUN_ID / "plan.json").stat()
    result = run(tmp_path, hosts("succeeded", exit_code=0, ended="2026-11-20T14:31:24Z"))
    assert [Path(diff["after_header"]).name for diff in result["diff"]] == ["run.yml"]
    assert "verdict: running" in result["diff"][0]["before"]
    assert document(tmp_path)["verdict"] == "succeeded"
    assert document(tmp_path)["exit_codes"] == {"node0": 0}
    assert document(tmp_path)["parameters"] == PLAN["parameters"]
    assert (tmp_path / RUN_ID / "plan.json").stat().st_ino == plan.st_ino


def test_an_experiment_that_was_opened_to_others_stays_so(tmp_path: Path) -> None:
    run(tmp_path, hosts("running"), plan=PLAN)
    home = tmp_path / RUN_ID
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o750)
    run(tmp_path, hosts("succeeded"))
    assert home.stat().st_mode & 0o777 == 0o750


def test_a_plan_that_was_collected_is_used(tmp_path: Path) -> None:
    (tmp_path / RUN_ID).mkdir()
    (tmp_path / RUN_ID / "plan.json").write_text(json.dumps(PLAN))
    run(tmp_path, hosts("succeeded"))
    assert document(tmp_path)["parameters"] == PLAN["parameters"]


@pytest.mark.parametrize("text", ["{", "[1]", "\udcff"])
def test_a_plan_or_record_that_is_broken_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / RUN_ID).mkdir()
    for name in ("plan.json", "run.yml"):
        (tmp_path / RUN_ID / name).write_bytes(text.encode(errors="surrogateescape"))
    assert run(tmp_path, hosts("succeeded"))["changed"] is True
    assert document(tmp_path)["verdict"] == "succeeded"


def test_the_run_that_the_nodes_tell_of(tmp_path: Path) -> None:
    run(tmp_path, hosts("succeeded"), asked=None)
    assert document(tmp_path)["run_id"] == RUN_ID


def test_without_an_answer_there_is_no_verdict(tmp_path: Path) -> None:
    run(tmp_path, {"node0": {}}, plan=PLAN)
    assert document(tmp_path)["verdict"] is None


@pytest.mark.parametrize("run_id", ["../elsewhere", "latest", None])
def test_what_is_no_run_id_makes_no_directory(tmp_path: Path, run_id: str | None) -> None:
    with pytest.raises(AnsibleActionFail, match="expected a run ID"):
        run(tmp_path / "experiments", {"node0": {}}, asked=run_id)
    assert tree(tmp_path) == set()


def test_of_a_run_that_nobody_knows_nothing_is_written(tmp_path: Path) -> None:
    result = run(tmp_path / "experiments", hosts("not_found"))
    assert (result["changed"], result["experiment"]) == (False, None)
    assert tree(tmp_path) == set()
    run(tmp_path / "experiments", hosts("succeeded"))
    assert run(tmp_path / "experiments", hosts("not_found"))["experiment"] == str(tmp_path / "experiments" / RUN_ID)


def test_strings_from_hosts_are_written_as_they_are(tmp_path: Path) -> None:
    why = trust_as_template("{{ lookup('pipe', 'touch evaluated') }}")
    run(tmp_path, hosts("failed", why=why))
    assert document(tmp_path)["why"] == f"node0: {why}"


def test_no_half_written_file_is_left_or_followed(tmp_path: Path) -> None:
    run(tmp_path, hosts("running"), plan=PLAN)
    before = (tmp_path / RUN_ID / "run.yml").stat().st_ino
    run(tmp_path, hosts("succeeded"))
    assert (tmp_path / RUN_ID / "run.yml").stat().st_ino != before
    assert not [name for name in tree(tmp_path) if name.endswith(".new")]


def test_latest_is_the_run_that_was_launched_last(tmp_path: Path) -> None:
    latest = tmp_path / "latest"
    run(tmp_path, hosts("succeeded"))
    assert os.readlink(latest) == RUN_ID
    run(tmp_path, {"node0": {}}, plan={**PLAN, "run_id": NEXT_ID}, run_id=NEXT_ID)
    assert os.readlink(latest) == NEXT_ID
    run(tmp_path, hosts("succeeded", exit_code=0))
    assert os.readlink(latest) == NEXT_ID


def test_latest_that_is_no_link_stays(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    run(tmp_path, hosts("running"), plan=PLAN)
    assert (tmp_path / "latest").is_dir()
    assert not (tmp_path / "latest").is_symlink()


def test_latest_that_points_nowhere_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("gone")
    run(tmp_path, hosts("succeeded"))
    assert os.readlink(tmp_path / "latest") == RUN_ID
