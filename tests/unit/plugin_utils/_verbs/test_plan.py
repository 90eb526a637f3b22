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

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
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


def refusal(asked: dict[str, Any], hosts: Hosts, **policy: Any) -> list[Finding]:
    conclusion = planned(asked, hosts, **policy)
    assert isinstance(conclusion.failure, PlanError)
    assert conclusion.result == {}
    return conclusion.failure.findings


def refused_checks(asked: dict[str, Any], hosts: Hosts, **policy: Any) -> list[str]:
    return [f"{finding.node}: {finding.check}" for finding in refusal(asked, hosts, **policy)]


def without(part: str) -> Hosts:
    """The answers of two nodes, without a part of the facts of one."""
    hosts = answers(2)
    del hosts["node1"]["launch__facts"]["ansible_facts"][part]
    return hosts


SLOTS, NO_INTERPRETER = answers(3), answers(2)
SLOTS["node0"]["launch_stop_grace"] = SLOTS["node2"]["launch_stop_grace"] = 60
SLOTS["node1"]["launch_slot"] = "b"
NO_INTERPRETER["node1"]["launch__facts"]["ansible_facts"]["node"]["python"]["path"] = None
SILENT: Hosts = {**answers(1), "node1": {"ansible_facts": {"node": facts_dict(1)}}, "node2": {}}
RELATIVE = {"launch__facts": {"failed": True, "msg": "workdir must be an absolute path"}, "launch_workdir": "rel/dir"}
# What is requested, the answers and the policy; the nodes and the checks of the findings.
REFUSED: dict[str, tuple[dict[str, Any], Hosts, dict[str, Any], list[str]]] = {
    "no facts of RDMA": (request(2), without("rdma"), {}, ["node1: rdma ports"]),
    "no facts of GPUs": (request(2), without("gpu"), {}, ["node1: nproc"]),
    "no facts": (request(3), SILENT, {}, ["node1: answer", "node2: answer"]),
    "a relative work directory": (request(1), {"node0": RELATIVE}, {}, ["node0: launch_workdir"]),
    "two mistakes": (
        request(2, mode="rdma"),
        *(NO_INTERPRETER, {}, ["node1: python interpreter", "node0: rdma ports", "node1: rdma ports"]),
    ),
    "no number": (request(1), answers(1), {"launch_stop_grace": "soon"}, ["None: launch_stop_grace"]),
    "a policy of one node": (request(3), SLOTS, {}, ["node1: launch_slot"]),
}


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
    assert refused_checks(request(2), hosts) == ["node1: answer"]


def test_check_mode_shows_the_head_of_the_plan_or_with_diff_all_of_it() -> None:
    conclusions = [planned(request(2), answers(2), True, shows_diff) for shows_diff in (False, True)]
    for conclusion in conclusions:
        assert conclusion.is_changed
        assert conclusion.document == {"run_id": RUN_ID, "world_size": 2, "plan": conclusion.result["plan"]}
        diff = conclusion.result["diff"]
        assert (diff["before"], diff["after_header"]) == ("", f"the plan of {RUN_ID}")
        assert "node 1: node1" in diff["after"]
    brief, full = map(texts, conclusions)
    assert (brief[:2], full) == (["", f"run {RUN_ID}"], [])
    assert "--diff" in brief[-1]


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


@pytest.mark.parametrize("name", REFUSED)
def test_why_a_plan_is_refused(name: str) -> None:
    asked, hosts, policy, expected = REFUSED[name]
    assert refused_checks(asked, hosts, **policy) == expected


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
