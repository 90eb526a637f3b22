# SPDX-License-Identifier: GPL-3.0-or-later
"""What `launch` and `collect` keep of a run, and what playbooks read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._verbs import collect, launch
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support.reports import RUN_ID, failing, info
from ansible_collections.muster.train.tests.support.verbs import Hosts, play_of

PLAN: dict[str, Any] = {
    "run_id": RUN_ID,
    "head": {"node": "node0"},
    "nodes": ["node0", "node1"],
    "spares": ["node2"],
    "nproc": 2,
    "parameters": {"channels": {"value": 42, "origin": "-e channels", "layer": "extra_vars"}},
}
SILENT = {"launch__info": {"unreachable": True, "msg": "no route"}}


def launched(home: Path, hosts: Hosts, follow: bool = True, **joined: Any) -> Conclusion:
    """The record of a launch; joined is how waiting for all nodes to join has ended."""
    known = {"launch__plan": {"plan": PLAN}, "launch__joined": joined}
    answers = {node: {**of_node, **known} for node, of_node in hosts.items()}
    return launch.record.conclusion(play_of("launch", answers, {"follow": follow}, experiments=str(home)))


def collected(home: Path, hosts: Hosts) -> Conclusion:
    answers = {node: {"launch__collected": answer["launch__info"]} for node, answer in hosts.items()}
    return collect.record.conclusion(play_of("collect", answers, experiments=str(home)))


def document(conclusion: Conclusion) -> dict[str, Any]:
    """The record of a run as it should be."""
    [text] = [file.text for file in conclusion.files if file.path.name == "run.yml"]
    return dict(yaml.safe_load(text))


def test_a_launch_keeps_its_plan_and_its_record(tmp_path: Path) -> None:
    conclusion = launched(tmp_path, {node: info(node, "waiting") for node in PLAN["nodes"]}, phase="running")
    assert [file.path for file in conclusion.files] == [tmp_path / RUN_ID / name for name in ("plan.json", "run.yml")]
    assert all(file.is_private for file in conclusion.files)
    assert json.loads(conclusion.files[0].text) == PLAN
    assert document(conclusion)["parameters"] == PLAN["parameters"]


@pytest.mark.parametrize(
    ("joined", "verdict"),
    [
        ({"phase": "waiting"}, "running"),  # all have joined since
        ({"phase": "running"}, "running"),
        ({"phase": "stopped", "ended": True}, "stopped"),
        ({}, "waiting"),  # it is not known whether the run has started
    ],
)
def test_the_verdict_of_a_launch(tmp_path: Path, joined: dict[str, Any], verdict: str) -> None:
    hosts = {node: info(node, "waiting", alive=True) for node in PLAN["nodes"]}
    assert document(launched(tmp_path, hosts, **joined))["verdict"] == verdict


@pytest.mark.parametrize(
    ("follow", "joined", "is_followed"),
    [(True, {"phase": "running"}, True), (False, {"phase": "running"}, False), (False, {"why": "no answer"}, True)],
)
def test_a_launch_without_follow_ends_where_it_is_known_to_have_started(
    tmp_path: Path, follow: bool, joined: dict[str, Any], is_followed: bool
) -> None:
    hosts = {node: info(node, "waiting") for node in PLAN["nodes"]}
    assert launched(tmp_path, hosts, follow, **joined).result["is_followed"] is is_followed


def test_the_nodes_of_a_launch_are_those_of_its_plan(tmp_path: Path) -> None:
    answers = {"node0": info("node0", "running"), "node1": SILENT, "node2": SILENT, "node3": SILENT}
    silent = document(launched(tmp_path, answers))["silent"]
    assert [node["node"] for node in silent] == ["node1", "node2"]


@pytest.mark.parametrize(
    ("hosts", "verdict"),
    [
        ({node: info(node, "succeeded", exit_code=0) for node in ("node0", "node1")}, "succeeded"),
        (failing(), "failed"),
        ({"node0": info("node0", "running"), "node1": SILENT}, "running"),
    ],
)
def test_playbooks_read_the_verdict_of_what_was_collected(tmp_path: Path, hosts: Hosts, verdict: str) -> None:
    conclusion = collected(tmp_path, hosts)
    home = tmp_path / RUN_ID
    assert [file.path for file in conclusion.files] == [home / "run.yml"]
    assert (conclusion.result["run_id"], conclusion.result["experiment"]) == (RUN_ID, str(home))
    assert conclusion.result["verdict"]["verdict"] == verdict
    assert document(conclusion)["verdict"] == verdict
    json.dumps(conclusion.result)


def test_playbooks_read_where_no_verdict_is_known(tmp_path: Path) -> None:
    result = collected(tmp_path, {"node0": SILENT}).result
    assert result == {"run_id": RUN_ID, "verdict": None, "experiment": str(tmp_path / RUN_ID)}


def test_of_a_run_that_is_on_no_node_nothing_is_kept(tmp_path: Path) -> None:
    conclusion = collected(tmp_path, {"node0": info("node0", "not_found")})
    assert (conclusion.files, conclusion.result["experiment"]) == ([], None)
    assert conclusion.result["verdict"]["verdict"] == "not_found"
