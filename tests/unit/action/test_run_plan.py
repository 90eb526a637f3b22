# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_plan`: what it gathers, what it answers, and once through ansible-playbook itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.muster.train.plugins.action.run_plan import ActionModule
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of
from ansible_collections.muster.train.tests.support.plan_parts import NO_GPU, POLICY, RUN_ID, facts_dict, request
from ansible_collections.muster.train.tests.support.rdma_parts import hca, port, rdma

ALONE = {"rdma": rdma(()).to_dict(), "gpu": dict(NO_GPU)}


def hostvars(count: int) -> Hosts:
    return Hosts(
        {
            f"node{number}": {"launch__facts": {"ansible_facts": {"node": facts_dict(number), **ALONE}}}
            for number in range(count)
        }
    )


def run(
    asked: dict[str, Any], hosts: dict[str, Any], check: bool = False, diff: bool = False, **variables: Any
) -> dict[str, Any]:
    """The action's result, as the task on the head gives it."""
    task = Mock(
        args={"request": asked}, check_mode=check, diff=diff, async_val=0, no_log=False, action="muster.train.run_plan"
    )
    task_vars = {**POLICY, "hostvars": hosts, **variables}
    templar = Templar(loader=DataLoader(), variables=task_vars)
    action = ActionModule(task, Mock(), Mock(), DataLoader(), templar, Mock())
    return result_of(action, task_vars)


def test_it_runs_once_and_contacts_no_node() -> None:
    assert ActionModule.BYPASS_HOST_LOOP is True
    assert ActionModule._requires_connection is False


def test_the_plan_is_the_same_from_facts_as_text() -> None:
    hosts = hostvars(2)
    as_text = {
        host: {"launch__facts": {"facts_text": json.dumps(values["launch__facts"]["ansible_facts"])}}
        for host, values in hosts.items()
    }
    assert run(request(2), Hosts(as_text))["plan"] == run(request(2), hosts)["plan"]


@pytest.mark.parametrize("text", ["", "[1]", '{"node": ', '{"node": null}', "{" * 100_000, 7, {"node": 1}])
def test_a_node_that_answers_with_other_text_has_no_facts(text: Any) -> None:
    hosts = hostvars(2)
    hosts["node1"]["launch__facts"] = {"facts_text": text}
    result = run(request(2), hosts)
    assert result["failed"]
    assert result["msg"].startswith("node1: answer: it returned no facts; ")


def test_the_plan() -> None:
    result = run(request(2), hostvars(2))
    assert result["changed"] is False
    assert "diff" not in result
    assert result["plan"]["run_id"] == RUN_ID
    assert list(result["plan"]["jobs"]) == ["node0", "node1"]


@pytest.mark.parametrize(("check", "diff"), [(True, False), (True, True), (False, True)])
def test_check_and_diff_show_the_plan_of_every_node(check: bool, diff: bool) -> None:
    result = run(request(2), hostvars(2), check=check, diff=diff)
    assert result["changed"] is check
    assert result["diff"]["before"] == ""
    assert "node 0: node0 (head)" in result["diff"]["after"]
    assert "node 1: node1" in result["diff"]["after"]
    assert result["diff"]["after_header"] == f"the plan of {RUN_ID}"


def test_a_check_without_diff_shows_the_head_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(screen, "display", Mock(display=lambda text, **_options: printed.append(text)))
    for check, diff in ((False, False), (False, True), (True, True)):
        run(request(2), hostvars(2), check=check, diff=diff)
    assert printed == []
    run(request(2), hostvars(2), check=True)
    assert printed[1] == f"run {RUN_ID}"
    assert printed[-1].startswith("nothing was started; --diff shows everything")


def test_policy_is_the_heads_variables_templated() -> None:
    word = trust_as_template("{{ 'sl' ~ 'ow' }}")
    result = run(
        request(1), hostvars(1), launch_slot=word, launch_env={"A": trust_as_template("{{ launch_stop_grace }}")}
    )
    job = result["plan"]["jobs"]["node0"]
    assert job["slot"] == "slow"
    assert {
        "name": "A",
        "value": "60",
        "origin": "cluster (launch_env)",
        "reason": "",
        "rule": "",
        "layer": "cluster",
    } in job["environment"]


def test_each_nodes_own_environment_and_address() -> None:
    hosts = hostvars(2)
    hosts["node0"]["ansible_host"] = "192.168.7.1"
    hosts["node1"]["launch_node_env"] = {"B": "1"}
    plan = run(request(2), hosts)["plan"]
    assert plan["head"]["address"] == "192.168.7.1"
    of_node = [
        [item["name"] for item in plan["jobs"][name]["environment"] if item["name"] == "B"] for name in plan["nodes"]
    ]
    assert of_node == [[], ["B"]]


def test_the_facts_of_rdma_and_gpus_lead_to_the_environment() -> None:
    hosts = hostvars(2)
    hcas = rdma([hca("mlx5_0"), hca("mlx5_1", port(rate=100.0))])
    for variables in hosts.values():
        variables["launch__facts"]["ansible_facts"].update(rdma=hcas.to_dict(), gpu={"vendor": "nvidia", "count": 4})
    plan = run(request(2), hosts)["plan"]
    assert (plan["fabric"]["value"], plan["nproc"]) == ("rdma", 4)
    [variable] = [item for item in plan["jobs"]["node1"]["environment"] if item["name"] == "NCCL_IB_HCA"]
    assert (variable["value"], variable["rule"], variable["origin"]) == ("=mlx5_0", "D2", "fabric")
    assert "NCCL_IB_GID_INDEX" in [item["name"] for item in plan["not_set"]["node0"]]


@pytest.mark.parametrize(("part", "check"), [("rdma", "rdma ports"), ("gpu", "nproc")])
def test_facts_that_nobody_could_gather_are_named(part: str, check: str) -> None:
    hosts = hostvars(2)
    del hosts["node1"]["launch__facts"]["ansible_facts"][part]
    message = run(request(2), hosts)["msg"]
    assert message.startswith(f"node1: {check}: ")
    assert len(message.splitlines()) == 1


def test_without_a_request_it_says_what_happened() -> None:
    result = run({}, hostvars(2))
    assert result["failed"] is True
    assert "--limit" in result["msg"]
    assert "-e nnodes=N" in result["msg"]


def test_a_node_without_facts_is_named() -> None:
    hosts = Hosts({**hostvars(1), "node1": {"ansible_facts": {"node": facts_dict(1)}}, "node2": {}})
    result = run(request(3), hosts)
    assert result["failed"] is True
    assert result["msg"].startswith("node1 and node2: answer: its facts were not gathered; expected its facts")


def test_a_relative_work_directory_is_refused_by_its_variable() -> None:
    hosts = hostvars(1)
    hosts["node0"]["launch__facts"] = {"failed": True, "msg": "workdir must be an absolute path"}
    hosts["node0"]["launch_workdir"] = "rel/dir"
    assert run(request(1), hosts)["msg"] == (
        "node0: launch_workdir: it is 'rel/dir'; expected an absolute path on the node, or one that begins with ~ "
        "(node_facts); correct launch_workdir where it is set, with -e or in the inventory"
    )


def test_all_that_stands_against_the_plan_is_in_the_message() -> None:
    hosts = hostvars(2)
    hosts["node1"]["launch__facts"]["ansible_facts"]["node"]["python"]["path"] = None
    result = run(request(2, mode="rdma"), hosts)
    assert result["failed"] is True
    assert "plan" not in result
    assert [line.split(": ")[1] for line in result["msg"].splitlines()] == ["python interpreter", "rdma ports"]


def test_a_policy_that_cannot_be_read_is_refused_by_name() -> None:
    result = run(request(1), hostvars(1), launch_stop_grace="soon")
    assert result["msg"].startswith("cluster: launch_stop_grace: it is 'soon'; expected a whole number")


def test_a_policy_of_one_nodes_own_is_refused_by_name() -> None:
    hosts = hostvars(3)
    hosts["node1"]["launch_slot"] = "b"
    hosts["node2"]["launch_stop_grace"] = trust_as_template("{{ 30 * 2 }}")
    result = run(request(3), hosts)
    assert result["failed"] is True
    assert result["msg"].startswith("node1: launch_slot: it is 'b' for this node; expected 'default' as for the head")
    assert len(result["msg"].splitlines()) == 1


def test_a_policy_that_is_another_for_each_node_is_refused() -> None:
    hosts = hostvars(2)
    me = {"ME": trust_as_template("{{ inventory_hostname }} of {{ launch_slot }}")}
    for name, variables in hosts.items():
        variables.update(inventory_hostname=name, launch_env=me)
    # The slot is the role's default: only the head's variables have it.
    message = run(request(2), hosts, inventory_hostname="node0", launch_env=me)["msg"]
    assert "it is {'ME': 'node1 of default'} for this node; expected {'ME': 'node0 of default'}" in message


def test_what_goes_out_is_plain_data() -> None:
    tagged = trust_as_template("{{ 1 + 1 }}")
    hosts = hostvars(1)
    hosts["node0"]["launch__facts"]["ansible_facts"]["node"]["workdir"]["path"] = tagged
    plan = run(request(1, script_args=[tagged], label=tagged), hosts)["plan"]
    assert plan == json.loads(json.dumps(plan))
    job = plan["jobs"]["node0"]
    assert {type(text) for text in (job["label"], job["workdir"], job["argv"][-1])} == {str}


@pytest.mark.slow
def test_the_page_tells_why_a_launch_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "display", Mock())
    page = tmp_path / "launch.html"
    asked = request(2)
    asked["parameters"]["page"] = {"value": str(page), "origin": "-e page", "layer": "extra_vars"}
    hosts = hostvars(2)
    result = run(asked, hosts)
    assert result["plan"]["run_id"] == RUN_ID
    assert "The launch was planned" in page.read_text()
    hosts["node1"]["launch__facts"] = {"unreachable": True, "msg": "<b>no</b> route"}
    assert run(asked, hosts)["msg"].startswith("node1: answer: ")
    assert "The launch was refused: 1 problem" in page.read_text()
    assert "&lt;b&gt;no&lt;/b&gt; route" in page.read_text()
