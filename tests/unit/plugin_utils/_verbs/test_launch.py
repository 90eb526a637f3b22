# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch asks its nodes: their facts, to start their part of the plan, and to withdraw it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.plugin_utils._plan.start import start_options
from ansible_collections.muster.train.plugins.plugin_utils._verbs import launch
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import HostSession, Play
from ansible_collections.muster.train.tests.support.plan_parts import request
from ansible_collections.muster.train.tests.support.sources import document
from ansible_collections.muster.train.tests.support.verbs import play_of

# A text that looks like a template is data: the plan came from a result.
ARGV = [trust_as_template("{{ 7 * 7 }}")]
JOBS = {name: {"node": name, "argv": ARGV} for name in ("node0", "node1", "spare")}
PLAN = {"head": {"node": "node0"}, "nodes": ["node0", "node1"], "jobs": JOBS}
ASKED = request(2)


def play(*nodes: str, **policy: Any) -> Play:
    """A launch that is planned; the key is that of its nonce."""
    hosts = {node: {"launch__plan": {"plan": PLAN}} for node in nodes}
    return dataclasses.replace(
        play_of("launch", hosts, policy=policy),
        request=ASKED,
        derive_key=lambda subject: f"key of {subject}",
    )


@pytest.mark.parametrize(
    ("node", "nodes", "is_checked", "prepared"),
    [
        ("node1", ["node0", "node1"], False, ["run"]),
        ("node0", ["node0", "node1"], False, []),
        ("node0", ["node0"], False, []),
        ("node1", ["node0", "node1"], True, []),
    ],
)
def test_the_worker_of_the_last_of_several_nodes_prepares_the_next_module(
    node: str, nodes: list[str], is_checked: bool, prepared: list[str]
) -> None:
    modules: list[str] = []
    session = HostSession(prepare_module=modules.append)
    gathering = dataclasses.replace(play(*nodes), host=session, is_checked=is_checked)
    options = launch.gather.options(gathering, node)
    assert options is not None
    assert (launch.gather.module, options["workdir"], options["node"]) == ("node_facts", "~/muster", node)
    assert modules == prepared


def test_a_node_gets_its_job_and_the_head_the_plan() -> None:
    assert launch.start.module == "run"
    options = launch.start.options(play("node0", "node1"), "node1")
    key = f"key of {ASKED['nonce']}"
    assert options == start_options({"job": JOBS["node1"], "key": key, "secrets": None})
    assert options["job"]["argv"][0].__class__ is str
    options = launch.start.options(play("node0", "node1"), "node0")
    assert options is not None
    assert options["plan"] == PLAN


def test_secrets_become_a_text() -> None:
    options = launch.start.options(play("node0", launch_secrets={"TOKEN": "hf_1"}), "node1")
    assert options is not None
    assert json.loads(options["secrets"]) == {"TOKEN": "hf_1"}


def test_a_node_without_a_job_is_neither_started_nor_stopped() -> None:
    for step in (launch.start, launch.withdraw):
        assert step.options(play("node0", "node2"), "node2") is None


def test_a_spare_that_fails_to_start_does_not_fail_the_launch() -> None:
    assert launch.start.is_needed is not None
    assert [launch.start.is_needed(play("node0"), node) for node in JOBS] == [True, True, False]


def test_a_launch_that_failed_to_start_stops_its_own_processes_only() -> None:
    """Of two launches of one run ID, the one that lost the race must not stop the other."""
    options = launch.withdraw.options(play("node0", launch_workdir="/w"), "node1")
    assert launch.withdraw.module == "run_stop"
    assert options == {
        "workdir": "/w",
        "run_id": ASKED["run_id"],
        "nonce": ASKED["nonce"],
        "grace": 10,
        "node": "node1",
        "docker": ["docker"],
    }


def test_the_secrets_reach_a_node_without_a_file_whatever_the_inventory_says() -> None:
    [start] = [task for task in document("roles/launch/tasks/start.yml")[0]["block"] if task["name"] == "Start the job"]
    assert start["muster.train.step"] == {"name": "launch.start"}
    assert start["vars"] == {"ansible_pipelining": True, "ansible_ssh_pipelining": True}


def test_a_node_that_fails_to_start_stops_the_launch_on_all() -> None:
    [*_others, play_of_launch] = document("playbooks/launch.yml")
    assert play_of_launch["any_errors_fatal"] is True
    [block] = [task for task in document("roles/launch/tasks/start.yml") if "rescue" in task]
    assert block["rescue"][0]["muster.train.step"] == {"name": "launch.withdraw"}
