# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a launch: what it is made of, and what is shown and written of it."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import launch
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support.plan_parts import NO_GPU, POLICY, RUN_ID, facts_dict, request
from ansible_collections.muster.train.tests.support.rdma_parts import hca, port, rdma
from ansible_collections.muster.train.tests.support.verbs import Hosts, play_of, texts

ALONE = {"rdma": rdma(()).to_dict(), "gpu": dict(NO_GPU)}


def answers(count: int) -> dict[str, dict[str, Any]]:
    """What each node has answered."""
    facts = [{"node": facts_dict(number), **copy.deepcopy(ALONE)} for number in range(count)]
    return {f"node{number}": {"launch__facts": {"ansible_facts": known}} for number, known in enumerate(facts)}


def planned(
    asked: dict[str, Any], hosts: Hosts, is_checked: bool = False, shows_diff: bool = False, **policy: Any
) -> Conclusion:
    """What is concluded on the head, whose variables are the role's defaults and the policy."""
    play = play_of("launch", hosts, policy={**POLICY, **policy})
    return launch.plan.conclusion(
        dataclasses.replace(play, request=asked, is_checked=is_checked, shows_diff=shows_diff)
    )


def plan(asked: dict[str, Any], hosts: Hosts, **policy: Any) -> dict[str, Any]:
    conclusion = planned(asked, hosts, **policy)
    assert conclusion.failure is None
    return dict(conclusion.result["plan"])


def refusal(asked: dict[str, Any], hosts: Hosts, **policy: Any) -> str:
    conclusion = planned(asked, hosts, **policy)
    assert isinstance(conclusion.failure, PlanError)
    assert conclusion.result == {}
    return str(conclusion.failure)


def test_the_plan() -> None:
    conclusion = planned(request(2), answers(2))
    assert (conclusion.is_changed, conclusion.lines, conclusion.document) == (False, (), None)
    assert [*conclusion.result] == ["plan"]
    made = conclusion.result["plan"]
    assert (made["run_id"], list(made["jobs"])) == (RUN_ID, ["node0", "node1"])


def test_the_plan_is_the_same_from_facts_as_text() -> None:
    hosts = answers(2)
    as_text = {
        host: {"launch__facts": {"facts_text": json.dumps(values["launch__facts"]["ansible_facts"])}}
        for host, values in hosts.items()
    }
    assert plan(request(2), as_text) == plan(request(2), hosts)


@pytest.mark.parametrize("text", ["", "[1]", '{"node": ', '{"node": null}', "{" * 100_000, 7, {"node": 1}])
def test_a_node_that_answers_with_other_text_has_no_facts(text: Any) -> None:
    hosts = {**answers(2), "node1": {"launch__facts": {"facts_text": text}}}
    assert refusal(request(2), hosts).startswith("node1: answer: it returned no facts; ")


def test_check_mode_shows_the_head_of_the_plan_or_with_diff_all_of_it() -> None:
    conclusions = [planned(request(2), answers(2), True, shows_diff) for shows_diff in (False, True)]
    for conclusion in conclusions:
        assert conclusion.is_changed
        assert conclusion.document == {"run_id": RUN_ID, "world_size": 2, "plan": conclusion.result["plan"]}
        diff = conclusion.result["diff"]
        assert (diff["before"], diff["after_header"]) == ("", f"the plan of {RUN_ID}")
        assert "node 0: node0 (head)" in diff["after"]
        assert "node 1: node1" in diff["after"]
    brief, full = map(texts, conclusions)
    assert (brief[:2], full) == (["", f"run {RUN_ID}"], [])
    assert brief[-1].startswith("nothing was started; --diff shows everything")


def test_each_nodes_own_environment_and_address() -> None:
    hosts = answers(2)
    hosts["node0"]["ansible_host"] = "192.168.7.1"
    hosts["node1"]["launch_node_env"] = {"B": "1"}
    made = plan(request(2), hosts)
    assert made["head"]["address"] == "192.168.7.1"
    of_node = [
        [item["name"] for item in made["jobs"][name]["environment"] if item["name"] == "B"] for name in made["nodes"]
    ]
    assert of_node == [[], ["B"]]


def test_the_facts_of_rdma_and_gpus_lead_to_the_environment() -> None:
    hosts = answers(2)
    hcas = rdma([hca("mlx5_0"), hca("mlx5_1", port(rate=100.0))])
    for variables in hosts.values():
        variables["launch__facts"]["ansible_facts"].update(rdma=hcas.to_dict(), gpu={"vendor": "nvidia", "count": 4})
    made = plan(request(2), hosts)
    assert (made["fabric"]["value"], made["nproc"]) == ("rdma", 4)
    [variable] = [item for item in made["jobs"]["node1"]["environment"] if item["name"] == "NCCL_IB_HCA"]
    assert (variable["value"], variable["rule"], variable["origin"]) == ("=mlx5_0", "D2", "fabric")
    assert "NCCL_IB_GID_INDEX" in [item["name"] for item in made["not_set"]["node0"]]


@pytest.mark.parametrize(("part", "check"), [("rdma", "rdma ports"), ("gpu", "nproc")])
def test_facts_that_nobody_could_gather_are_named(part: str, check: str) -> None:
    hosts = answers(2)
    del hosts["node1"]["launch__facts"]["ansible_facts"][part]
    message = refusal(request(2), hosts)
    assert message.startswith(f"node1: {check}: ")
    assert len(message.splitlines()) == 1


def test_a_node_without_facts_is_named() -> None:
    hosts = {**answers(1), "node1": {"ansible_facts": {"node": facts_dict(1)}}, "node2": {}}
    message = refusal(request(3), hosts)
    assert message.startswith("node1 and node2: answer: its facts were not gathered; expected its facts")


def test_a_relative_work_directory_is_refused_by_its_variable() -> None:
    failed = {"failed": True, "msg": "workdir must be an absolute path"}
    assert refusal(request(1), {"node0": {"launch__facts": failed, "launch_workdir": "rel/dir"}}) == (
        "node0: launch_workdir: it is 'rel/dir'; expected an absolute path on the node, or one that begins with ~ "
        "(node_facts); correct launch_workdir where it is set, with -e or in the inventory"
    )


def test_all_that_stands_against_the_plan_is_in_the_message() -> None:
    hosts = answers(2)
    hosts["node1"]["launch__facts"]["ansible_facts"]["node"]["python"]["path"] = None
    message = refusal(request(2, mode="rdma"), hosts)
    assert [line.split(": ")[1] for line in message.splitlines()] == ["python interpreter", "rdma ports"]


def test_a_policy_that_cannot_be_read_is_refused_by_name() -> None:
    message = refusal(request(1), answers(1), launch_stop_grace="soon")
    assert message.startswith("cluster: launch_stop_grace: it is 'soon'; expected a whole number")


def test_a_policy_of_one_nodes_own_is_refused_by_name() -> None:
    hosts = answers(3)
    hosts["node0"]["launch_stop_grace"] = hosts["node2"]["launch_stop_grace"] = 60
    hosts["node1"]["launch_slot"] = "b"
    message = refusal(request(3), hosts)
    assert message.startswith("node1: launch_slot: it is 'b' for this node; expected 'default' as for the head")
    assert len(message.splitlines()) == 1


def test_the_facts_in_a_plan_are_plain_data() -> None:
    hosts = answers(1)
    hosts["node0"]["launch__facts"]["ansible_facts"]["node"]["workdir"]["path"] = trust_as_template("{{ 1 + 1 }}")
    made = plan(request(1), hosts)
    assert made == json.loads(json.dumps(made))
    workdir = made["jobs"]["node0"]["workdir"]
    assert (workdir, type(workdir)) == ("{{ 1 + 1 }}", str)


@pytest.mark.slow
def test_the_page_tells_why_a_launch_was_refused(tmp_path: Path) -> None:
    path = tmp_path / "launch.html"
    asked, hosts = request(2, page=str(path)), answers(2)
    [page] = planned(asked, hosts).files
    assert (page.path, page.note) == (path, f"\n  page: {path}")
    assert "The launch was planned" in page.text
    hosts["node1"]["launch__facts"] = {"unreachable": True, "msg": "<b>no</b> route"}
    refused = planned(asked, hosts)
    assert str(refused.failure).startswith("node1: answer: ")
    [page] = refused.files
    assert "The launch was refused: 1 problem" in page.text
    assert "&lt;b&gt;no&lt;/b&gt; route" in page.text
