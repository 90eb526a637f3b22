# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: what the placeholders of arguments and variables become on each node."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.node import File
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.spares import plan_with_spares
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import (
    NONCE,
    RUN_ID,
    node,
    nodes,
    policy,
    refused,
    request,
)
from ansible_collections.muster.train.tests.support.plans import environment, plan_of, variable

ARGUMENTS = ["--out", "{output_dir}/ckpt", "--name={run_id}-{node_rank}", "--log={run_dir}/x", "{{step}}", '{"a": 1}']


def run_dir(name: str) -> str:
    return f"/home/ann/muster/.muster/nodes/{name}/runs/{RUN_ID}"


def arguments(plan: dict[str, Any], name: str) -> list[str]:
    argv = plan["jobs"][name]["argv"]
    return list(argv[argv.index("/home/ann/code/train.py") + 1 :])


def test_arguments_have_the_directories_of_each_node() -> None:
    plan = plan_of(script_args=ARGUMENTS)
    for rank, name in enumerate(("node0", "node1")):
        assert arguments(plan, name) == [
            "--out",
            f"{run_dir(name)}/outputs/ckpt",
            f"--name={RUN_ID}-{rank}",
            f"--log={run_dir(name)}/x",
            "{step}",
            '{"a": 1}',
        ]
    assert plan["parameters"]["script_args"]["value"] == ARGUMENTS, "a launch of the run again expands them again"


def test_the_option_of_the_configuration_is_expanded() -> None:
    plan = plan_of(config_name="llama3", config_option="--{node_rank}")
    assert [arguments(plan, name) for name in ("node0", "node1")] == [["--0", "llama3"], ["--1", "llama3"]]


def test_variables_of_users_are_expanded_and_no_others() -> None:
    login = [{"kind": "login", "source": "~/.profile", "variables": {"NCCL_DEBUG_FILE": "/tmp/{x}"}}]
    on = [node(0, env={"B": "{output_dir}"}, inherited=login), node(1)]
    plan = make_plan(request(2, env={"A": "{node_rank}"}), policy(env={"B": "{run_id}", "C": "{run_dir}"}), on)
    values = [[environment(plan, name).get(key) for key in "ABC"] for name in ("node0", "node1")]
    assert values == [["0", f"{run_dir('node0')}/outputs", run_dir("node0")], ["1", RUN_ID, run_dir("node1")]]
    assert variable(plan, "A") == ("0", "extra_vars")
    assert environment(plan)["NCCL_DEBUG_FILE"] == "/tmp/{x}"


def test_a_program_that_takes_no_variables_gets_the_rendezvous_by_argument() -> None:
    plan = plan_of(launcher="exec", script="accelerate", script_args=["--of={nnodes}", "--at={master_addr}"])
    assert [job["argv"] for job in plan["jobs"].values()] == [["accelerate", "--of=2", "--at=10.0.0.1"]] * 2


def test_a_spare_gets_the_node_rank_that_it_takes() -> None:
    asked = {**request(2, script_args=ARGUMENTS, env={"A": "{node_rank}"}, max_restarts=1), "spares": ["node2"]}
    plan, _left_out = plan_with_spares(asked, policy(), {f"node{n}": node(n) for n in range(3)}, {})
    spare = Job.from_dict(plan["jobs"]["node2"])
    assert f"--name={RUN_ID}-<node rank {NONCE}>" in spare.argv
    job = spare.at(1)
    assert f"--name={RUN_ID}-1" in job.argv
    assert f"{run_dir('node2')}/outputs/ckpt" in job.argv
    assert {item.name: item.value for item in job.environment}["A"] == "1"


PLACE = {"path": "/nfs/out", "exists": True, "readable": False, "sha256": None}
SHARED = request(2, script_args=["{output_dir}"])


def put_shared_directory(on: Node, facts: dict[str, Any]) -> None:
    assert on.facts.files is not None
    on.facts.files["~/out"] = File.from_dict(facts)


def test_shared_outputs_are_one_directory_on_all_nodes() -> None:
    on = nodes(2)
    for one in on:
        put_shared_directory(one, PLACE)
    plan = make_plan(SHARED, policy(shared_output_dir="~/out"), on)
    for name in ("node0", "node1"):
        assert arguments(plan, name) == [f"/nfs/out/{RUN_ID}"]
        assert environment(plan, name)["MUSTER_OUTPUT_DIR"] == plan["jobs"][name]["output_dir"] == f"/nfs/out/{RUN_ID}"
        assert plan["jobs"][name]["run_dir"] == run_dir(name)


def refused_directory(facts: list[dict[str, Any]]) -> list[Finding]:
    """What is found where the shared directory is this on the nodes."""
    on = nodes(len(facts))
    for one, directory in zip(on, facts, strict=True):
        put_shared_directory(one, {**PLACE, **directory})
    return refused(SHARED, policy(shared_output_dir="~/out"), on)


CASES = [
    Case(
        "an unknown placeholder of the cluster's variables",
        lambda: refused(request(1), policy(env={"A": "{home}/x"}), nodes(1)),
        [("environment", None, "fail")],
    ),
    Case(
        "no shared directory on a node",
        lambda: refused_directory([{}, {"exists": False}]),
        [("outputs", "node1", "fail")],
    ),
    Case(
        "a shared directory that is a file",
        lambda: refused_directory([{"readable": True}] * 2),
        [("outputs", "node0", "fail"), ("outputs", "node1", "fail")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_cannot_be_replaced_or_used_is_refused(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes
