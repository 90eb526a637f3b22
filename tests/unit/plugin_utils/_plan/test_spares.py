# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of spares: who takes whose rank when the plan refuses a node."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.spares import plan_with_spares
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.plan_parts import node, policy, request

NO_PYTHON: dict[str, Any] = {"python__path": None}


def silent(name: str) -> Finding:
    return Finding("facts", name, "error", "it gave no facts", "its facts", "module node_facts", "mend it")


def planned(
    count: int, spares: int, *, bad: tuple[int, ...] = (), away: tuple[int, ...] = (), **parameters: Any
) -> tuple[dict[str, Any], list[Finding]]:
    """Plan with so many nodes and spares, numbered on; bad ones have no Python, those away gave no facts."""
    asked = {**request(count, **parameters), "spares": [f"node{number}" for number in range(count, count + spares)]}
    known = {
        f"node{number}": node(number, **(NO_PYTHON if number in bad else {}))
        for number in range(count + spares)
        if number not in away
    }
    return plan_with_spares(asked, policy(), known, {f"node{n}": silent(f"node{n}") for n in away})


def test_where_all_is_well_spares_wait_if_another_attempt_is_allowed() -> None:
    plan, left_out = planned(2, 2, max_restarts=1)
    assert (plan["nodes"], plan["spares"], left_out) == (["node0", "node1"], ["node2", "node3"], [])
    assert (plan["nnodes"], plan["world_size"], plan["replaced"]) == (2, 2, {})
    ranks = {name: (job["node_rank"], job["nnodes"], job["world_size"]) for name, job in plan["jobs"].items()}
    assert ranks == {"node0": (0, 2, 2), "node1": (1, 2, 2), "node2": (2, 2, 2), "node3": (3, 2, 2)}
    assert plan["jobs"]["node0"]["gang"]["nodes"] == ["node0", "node1", "node2", "node3"]
    plan, left_out = planned(2, 2)
    assert (list(plan["jobs"]), plan["spares"], left_out) == (["node0", "node1"], [], [])


@pytest.mark.parametrize("how", ["bad", "away"])
def test_a_spare_takes_the_place_of_a_refused_node_and_the_others_keep_theirs(how: str) -> None:
    plan, left_out = planned(3, 1, **{how: (1,)})
    assert (plan["nodes"], plan["replaced"]) == (["node0", "node3", "node2"], {"node1": "node3"})
    assert [plan["jobs"][name]["node_rank"] for name in plan["nodes"]] == [0, 1, 2]
    assert [(finding.node, finding.status) for finding in left_out] == [("node1", "warn")]
    [finding] = [finding for finding in plan["findings"] if finding["node"] == "node1"]
    assert finding["status"] == "warn"


def test_the_head_too_is_replaced() -> None:
    plan, _left_out = planned(2, 1, away=(0,))
    assert plan["head"]["node"] == plan["nodes"][0] == "node2"
    assert plan["head"]["address"] == "10.0.0.3"


def test_a_spare_that_is_refused_itself_is_left_out() -> None:
    plan, left_out = planned(2, 3, bad=(1, 2), away=(3,), max_restarts=1)
    assert (plan["nodes"], plan["spares"]) == (["node0", "node4"], [])
    assert plan["replaced"] == {"node1": "node4"}
    assert sorted(str(finding.node) for finding in left_out) == ["node1", "node2", "node3"]


def test_a_spare_that_would_change_what_the_nodes_get_is_left_out() -> None:
    """The ranks per node are decided by the nodes: two spares with fewer GPUs are not a majority."""
    asked = {**request(2, max_restarts=1), "spares": ["node2", "node3", "node4"]}
    gpus = {0: 8, 1: 8, 2: 4, 3: 4, 4: 8}
    known = {
        f"node{number}": dataclasses.replace(node(number), gpu=Gpu.from_dict({"vendor": "nvidia", "count": count}))
        for number, count in gpus.items()
    }
    plan, left_out = plan_with_spares(asked, policy(), known, {})
    assert (plan["nodes"], plan["spares"], plan["nproc"]) == (["node0", "node1"], ["node4"], 8)
    assert sorted(str(finding.node) for finding in left_out) == ["node2", "node3"]


def test_a_head_whose_address_the_policy_names_is_not_replaced() -> None:
    asked = {**request(2), "spares": ["node2"]}
    known = {f"node{number}": node(number, **(NO_PYTHON if number == 0 else {})) for number in range(3)}
    with pytest.raises(PlanError) as caught:
        plan_with_spares(asked, policy(head_address="10.0.0.1"), known, {})
    assert ("python interpreter", "node0", "fail") in outcomes(caught.value.findings)


@pytest.mark.parametrize(("bad", "away"), [((1, 2), ()), ((1,), (3,)), ((1, 3), ())])
def test_too_few_spares_refuse_the_launch(bad: tuple[int, ...], away: tuple[int, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        planned(3, 1, bad=bad, away=away)
    assert "node1" in [finding.node for finding in caught.value.findings]


def test_a_problem_of_the_whole_cluster_uses_no_spare() -> None:
    with pytest.raises(PlanError):
        planned(2, 4, mode="rdma")
