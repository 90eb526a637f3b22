# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: a program that starts its ranks itself (launcher=exec), or is one rank (launcher=python)."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import nodes, policy, refused, request
from ansible_collections.muster.train.tests.support.plans import NVIDIA, environment, plan_of, variable

RANK_VARIABLES = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_RANK", "TORCHELASTIC_RUN_ID"}


@pytest.mark.parametrize(
    ("parameters", "argv"),
    [
        ({"script": "train.py"}, ["/usr/bin/python3", "/home/ann/code/train.py", "-x"]),
        ({"script": "accelerate"}, ["accelerate", "-x"]),
        ({"script": None, "module": "pkg.train"}, ["/usr/bin/python3", "-m", "pkg.train", "-x"]),
    ],
)
def test_the_launcher_exec_runs_one_program_on_each_node(parameters: dict[str, Any], argv: list[str]) -> None:
    plan = plan_of(launcher="exec", nproc=8, master_port=31000, script_args=["-x"], facts={"gpu": NVIDIA}, **parameters)
    assert [job["argv"] for job in plan["jobs"].values()] == [argv, argv]
    for rank, name in enumerate(("node0", "node1")):
        values = environment(plan, name)
        expected = {"NODE_RANK": str(rank), "GROUP_RANK": str(rank), "NNODES": "2", "GROUP_WORLD_SIZE": "2"}
        expected |= {"NPROC_PER_NODE": "8", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "31000"}
        assert expected.items() <= values.items()
        assert not RANK_VARIABLES & values.keys()


CASES = [
    Case(
        "no file of the launcher exec",
        lambda: refused(request(1, launcher="exec", script="bin/run"), policy(), nodes(1)),
        [("files", "node0", "fail")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_script_of_the_launcher_exec_that_is_a_path_has_to_be_there(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_the_launcher_python_passes_ranks_in_the_environment() -> None:
    plan = plan_of(launcher="python", nproc=1, master_port=31000, facts={"gpu": NVIDIA})
    assert plan["jobs"]["node1"]["argv"] == ["/usr/bin/python3", "/home/ann/code/train.py"]
    assert plan["jobs"]["node1"]["launcher"] == "python"
    expected = {"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "1"}
    expected |= {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "31000"}
    expected |= {"NODE_RANK": "1", "NNODES": "2", "GROUP_WORLD_SIZE": "2"}
    assert expected.items() <= environment(plan, "node1").items()
    assert variable(plan, "RANK", "node1") == ("1", "machine")


def test_accelerate_takes_the_cpus_of_nodes_without_gpus_unless_a_user_decides() -> None:
    name, packages = "ACCELERATE_USE_CPU", {"versions": {"torch": "2.13.0", "accelerate": "1.15.0"}}
    options: dict[str, Any] = {"launcher": "accelerate", "launcher_args": ["--config_file={output_dir}/fsdp.yaml"]}
    plan = plan_of(facts=packages, **options)
    assert f"--config_file={plan['jobs']['node1']['output_dir']}/fsdp.yaml" in plan["jobs"]["node1"]["argv"]
    assert variable(plan, name, "node1") == ("true", "default")
    assert variable(plan_of(facts=packages, env={name: "0"}, **options), name, "node1") == ("0", "cluster")
    assert name not in environment(plan_of(facts={**packages, "gpu": NVIDIA}, **options), "node1")
