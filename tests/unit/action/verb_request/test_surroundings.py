# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `verb_request`: the directories, the inventory and the options that it is called with."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from ansible import constants

from ansible_collections.muster.train.plugins.action import verb_request as action
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE
from ansible_collections.muster.train.tests.support.asking import Run, value

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_given_run_id_without_a_plan_causes_a_warning(run: Run, tmp_path: Path, text: str | None) -> None:
    run_id = "multinode_42ch_autoth_20261120_143052"
    (tmp_path / "experiments" / run_id).mkdir(parents=True)
    if text is not None:
        (tmp_path / "experiments" / run_id / "plan.json").write_text(text)
    result = run(f"run_id={run_id}")
    assert value(result, "channels") is None
    assert result["warnings"] == [
        f"there is no plan of {run_id} in {tmp_path}/experiments: if it was launched before, its parameters are not "
        f"known here; to reuse them, collect it first: ansible-playbook muster.train.collect -e run_id={run_id}"
    ]
    assert "warnings" not in run(f"run_id={run_id}", verb="status")
    assert run("run_id=../../x")["failed"] is True
    # A sweep chooses the ID of a run before it launches it.
    assert "warnings" not in run(f"run_id=train_{datetime.now(UTC):%Y%m%d_%H%M%S}_3f9a")


def elsewhere(monkeypatch: pytest.MonkeyPatch, paths: list[Path], origin: str) -> None:
    lookup = Mock(return_value=([str(path) for path in paths], origin))
    monkeypatch.setattr(constants.config, "get_config_value_and_origin", lookup)


def test_the_next_command_finds_the_collection(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, link = tmp_path / "other", ROOT / "collections"
    other.mkdir()
    elsewhere(monkeypatch, [other, link], "/etc/ansible/ansible.cfg")
    assert run()["request"]["call"] == "ansible-playbook"
    # What was set for one command may not be there for the next.
    elsewhere(monkeypatch, [other, link], "env: ANSIBLE_COLLECTIONS_PATH")
    assert run()["request"]["call"] == f"ANSIBLE_COLLECTIONS_PATH={other}:{link} ansible-playbook"
    elsewhere(monkeypatch, [other, tmp_path / "gone"], "default")
    assert run()["request"]["call"] == f"ANSIBLE_COLLECTIONS_PATH={link}:{other} ansible-playbook"


def test_the_next_command_has_the_same_configuration(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSIBLE_CONFIG", "lab/ansible.cfg")
    monkeypatch.setenv("ANSIBLE_INVENTORY", "lab/two hosts")
    assert run()["request"]["call"].startswith("ANSIBLE_CONFIG=lab/ansible.cfg ANSIBLE_INVENTORY='lab/two hosts' ")
    monkeypatch.delenv("ANSIBLE_INVENTORY")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(tmp_path / "ansible.cfg"))
    assert "ANSIBLE_CONFIG" not in run()["request"]["call"]


def test_the_home_directory(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}/ada")
    assert run(args={"experiments_dir": "~/runs"})["request"]["experiments"] == f"{tmp_path}/ada/runs"


@pytest.mark.parametrize("verb", ["launch", "collect"])
@pytest.mark.parametrize("check", [False, True])
def test_experiments_that_cannot_be_written(run: Run, tmp_path: Path, verb: str, check: bool) -> None:
    (tmp_path / "file").write_text("")
    lines = run(verb=verb, args={"experiments_dir": "file/runs"}, check=check)["msg"]
    assert lines == (
        f"launch_experiments_dir: {tmp_path}/file/runs could not be written (Not a directory); expected a directory "
        "that you can write to, with free space; choose another with -e launch_experiments_dir=PATH"
    )


def test_following_where_nothing_can_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(verb="follow", args={"experiments_dir": "file/runs"})
    assert result["request"]["verb"] == "follow"
    assert [warning.split(";")[0] for warning in result["warnings"]] == [
        f"launch_experiments_dir: {tmp_path}/file/runs could not be written (Not a directory)"
    ]


def test_the_experiments_are_made(run: Run, tmp_path: Path) -> None:
    run(check=True)
    assert not (tmp_path / "experiments").exists()
    run()
    assert list((tmp_path / "experiments").iterdir()) == []
    assert (tmp_path / "experiments").stat().st_mode & 0o777 == 0o700


def test_an_experiment_that_is_in_the_way(run: Run, tmp_path: Path) -> None:
    run_id = "multinode_42ch_256th_20261120_143052"
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / run_id).write_text("")
    assert f"{run_id} could not be written (Not a directory)" in run(f"run_id={run_id}")["msg"]


@pytest.mark.parametrize("verb", ["status", "stop", "logs"])
def test_other_verbs_work_where_nothing_can_be_written(run: Run, tmp_path: Path, verb: str) -> None:
    (tmp_path / "file").write_text("")
    assert run(verb=verb, args={"experiments_dir": "file/runs"})["request"]["verb"] == verb


def test_list_reads_the_directory_where_no_node_is(run: Run, tmp_path: Path) -> None:
    result = run(verb="list", hostvars={}, task_vars={"launch_experiments_dir": "kept"})
    assert result["request"]["experiments"] == f"{tmp_path}/kept"


@pytest.mark.parametrize(
    ("policy", "first_port"),
    [({"launch_port_range": "2000-2999"}, 2000), ({}, DEFAULT_RANGE[0]), ({"launch_port_range": "2000"}, None)],
)
def test_preflight_gets_the_first_port_of_the_range(run: Run, policy: dict[str, Any], first_port: int | None) -> None:
    """None of a range that is not valid, which the checks refuse in the words of a launch."""
    hosts = {"node0": policy, "node1": {"launch_port_range": "3000-3999"}}
    assert run(verb="preflight", hostvars=hosts)["first_port"] == first_port
    assert "first_port" not in run(verb="status", hostvars=hosts)


def test_addresses_come_from_the_inventory(run: Run) -> None:
    same: dict[str, dict[str, Any]] = {"a": {"ansible_host": "10.0.0.1"}, "b": {"ansible_host": "10.0.0.1"}}
    assert run("script=t.py", hostvars=same)["msg"].startswith(
        "inventory: a and b are the same machine (10.0.0.1 port 22)"
    )
    same["b"]["ansible_port"] = 2222
    assert run("script=t.py", hostvars=same)["request"]["nodes"] == ["a", "b"]


def test_no_nodes_names_the_sources(run: Run) -> None:
    assert "(read: /clusters/lab)" in run("script=t.py", hostvars={})["msg"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"tags": ("foo",)}, "--tags: expected none, saw 'foo'; the tasks of a verb have no tags, remove it"),
        ({"start_at_task": "Plan"}, "--start-at-task: expected none, saw 'Plan'; a verb runs as a whole, remove it"),
    ],
)
def test_options_that_leave_out_tasks(run: Run, options: dict[str, Any], line: str) -> None:
    assert run(options=options)["msg"] == line
    assert "request" in run(options={"tags": ("all",), "skip_tags": ("molecule-notest",), "start_at_task": None})


@pytest.mark.parametrize(
    ("tags", "line"),
    [
        (("code", "memlock"), None),
        (("codes",), "--tags: expected memlock, firewall, code, container, saw 'codes'; correct it"),
    ],
)
def test_a_setup_takes_the_tags_of_its_parts(run: Run, tags: tuple[str, ...], line: str | None) -> None:
    assert run(verb="setup", options={"tags": tags}).get("msg") == line


def test_a_part_of_a_setup_takes_a_limit(run: Run) -> None:
    assert "request" in run(verb="setup", options={"tags": ("code",)}, subset="node0")
    assert run(verb="setup", subset="node0")["msg"].startswith("--limit: expected none, saw 'node0'; its preflight")


def test_limit(run: Run) -> None:
    assert run(subset="node0")["msg"].startswith("--limit: expected none, saw 'node0'")


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("galaxy.yml", "version: 1.2.3\n", "1.2.3"),
        ("MANIFEST.json", '{"collection_info": {"version": "4.5.6"}}', "4.5.6"),
        ("README.md", "", "unknown"),
    ],
)
def test_the_version_of_the_collection(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, version: str
) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(action, "COLLECTION", tmp_path)
    assert run()["request"]["versions"]["muster"] == version


def test_the_next_command_has_this_one_s_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yml").write_text("launch_slot: a\n")
    (tmp_path / "both.yml").write_text("channels: 28\nlaunch_stop_grace: 9\n")
    (tmp_path / "secret.yml").write_text("launch_secrets: {HF_TOKEN: x}\nthreads: 64\n")
    inline = '{"launch_python": "python3.11", "label": "base"}'
    options = ("channels=42", "launch_workdir=/x", "@policy.yml", "@both.yml", "@secret.yml", inline)
    call = run(*options, '{"launch_secrets": {"HF_TOKEN": "x"}}')["request"]["call"]
    assert shlex.split(call) == [
        "ansible-playbook",
        *("-e", "launch_workdir=/x"),
        *("-e", "@policy.yml"),
        *("-e", "@both.yml"),
        *("-e", "@secret.yml"),
        *("-e", '{"launch_python": "python3.11"}'),
    ]


def test_other_verbs_ignore_what_a_file_has_for_a_launch(run: Run, tmp_path: Path) -> None:
    (tmp_path / "both.yml").write_text("channels: 28\nlaunch_slot: a\nrank: 3\n")
    assert "request" in run("@both.yml", verb="logs")
    assert "-e @both.yml" in run("@both.yml", verb="logs")["request"]["call"]
    assert run("@both.yml", verb="status")["msg"].startswith("rank: unknown parameter")
    assert run("@both.yml", "channels=28", verb="logs")["msg"].startswith("channels: unknown parameter")
    assert "rank: unknown parameter" in run("@both.yml")["msg"]


def test_the_next_command_needs_no_path_where_the_collection_is_found_by_default(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path))
    (tmp_path / "collections/ansible_collections/muster").mkdir(parents=True)
    (tmp_path / "collections/ansible_collections/muster/train").symlink_to(ROOT)
    elsewhere(monkeypatch, [tmp_path / "collections"], "env: ANSIBLE_COLLECTIONS_PATH")
    assert run()["request"]["call"] == "ansible-playbook"
