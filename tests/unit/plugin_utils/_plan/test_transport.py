# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify_transport sets and has proved, by the fabric, the GPUs and what users set."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import node, policy, request
from ansible_collections.muster.train.tests.support.plans import environment
from ansible_collections.muster.train.tests.support.rdma_parts import down, gpu, hca, rdma

NAMES = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}
HCAS = ("mlx5_0", "mlx5_1")
NEAR = tuple((number, name, "PIX") for number, name in enumerate(HCAS))


def planned(
    count: int = 2,
    env: dict[str, str] | None = None,
    kernel: bool = True,
    near: Any = NEAR,
    gpus: int = 2,
    hcas: list[Hca] | None = None,
    facts: dict[str, Any] | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """A plan for nodes with two GPUs and two HCAs."""
    devices = rdma(map(hca, HCAS) if hcas is None else hcas, nvidia_peermem=kernel)
    on = [
        dataclasses.replace(node(number, gpu=gpu(gpus, near).to_dict(), **(facts or {})), rdma=devices)
        for number in range(count)
    ]
    asked = request(count, **{"verify_transport": "warn", **parameters})
    return make_plan(asked, policy(env=env or {}), on)


def proof_of(plan: dict[str, Any], name: str = "node0") -> dict[str, Any] | None:
    proof: dict[str, Any] | None = plan["jobs"][name]["transport"]
    return proof


@pytest.mark.parametrize("action", ["warn", "fail"])
def test_nccl_logs_what_it_uses_and_the_nodes_have_to_prove_it(action: str) -> None:
    plan = planned(verify_transport=action)
    assert plan["fabric"]["value"] == "rdma"
    for name in ("node0", "node1"):
        job, values = plan["jobs"][name], environment(plan, name)
        assert {key: values[key] for key in NAMES} == {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET",
            "NCCL_DEBUG_FILE": f"{job['run_dir']}/logs/nccl.%h.%p.log",
        }
        assert job["transport"] == {
            "action": action,
            "gdr": True,
            "hcas": list(HCAS),
            "missing": "",
            "elsewhere": [],
        }


@pytest.mark.parametrize(
    "given",
    [
        {"verify_transport": "off"},
        {"count": 1},
        {"hcas": [hca("mlx5_0", down())]},
        {"gpus": 0},
        {"mode": "tcp"},
    ],
)
def test_nothing_is_set_where_nothing_is_to_be_proved(given: dict[str, Any]) -> None:
    plan = planned(**{"verify_transport": "fail", **given})
    assert proof_of(plan) is None
    assert not NAMES & {*environment(plan)}
    assert "verify_transport" not in str(plan["findings"])


@pytest.mark.parametrize(
    ("given", "gdr"),
    [
        ({}, True),
        ({"kernel": False}, None),
        ({"near": NEAR[:1]}, None),
        ({"near": ()}, None),
        ({"env": {"NCCL_NET_GDR_LEVEL": "LOC"}}, None),
        ({"env": {"NCCL_NET_GDR_READ": "0"}}, True),
    ],
)
def test_gpudirect_is_expected_where_nccl_will_use_it(given: dict[str, Any], gdr: bool | None) -> None:
    proof = proof_of(planned(**given))
    assert proof is not None and proof["gdr"] is gdr


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({"NCCL_DEBUG": "INFO"}, None),
        ({"NCCL_DEBUG": "trace"}, None),
        ({"NCCL_DEBUG": "WARN"}, "NCCL_DEBUG"),
        ({"NCCL_DEBUG_SUBSYS": "ALL"}, None),
        ({"NCCL_DEBUG_SUBSYS": "init,graph"}, None),
        ({"NCCL_DEBUG_SUBSYS": "^TUNING"}, None),
        ({"NCCL_DEBUG_SUBSYS": "^INIT,NET"}, "NCCL_DEBUG_SUBSYS"),
        ({"NCCL_DEBUG_SUBSYS": "ENV"}, "NCCL_DEBUG_SUBSYS"),
        ({"NCCL_DEBUG_FILE": "/tmp/%p"}, "NCCL_DEBUG_FILE"),
    ],
)
def test_what_users_set_wins_and_what_cannot_be_proved_is_said(env: dict[str, str], missing: str | None) -> None:
    plan = planned(env=env)
    values = environment(plan)
    assert {name: values[name] for name in env} == env
    assert {*values} & NAMES == ({*env} if missing else NAMES)
    proof = proof_of(plan)
    assert proof is not None and (proof["missing"].partition("=")[0] or None) == missing
    warned = [(item["node"], item["status"]) for item in plan["findings"] if item["source"] == "-e verify_transport"]
    assert warned == ([("node0", "warn"), ("node1", "warn")] if missing else [])
    if missing:
        with pytest.raises(PlanError):
            planned(env=env, verify_transport="fail")


@pytest.mark.parametrize(("subsystems", "compares"), [("INIT,ENV", True), ("INIT", False), ("^ENV", False)])
def test_variables_are_compared_where_nccl_logs_them(subsystems: str, compares: bool) -> None:
    proof = proof_of(planned(env={"NCCL_DEBUG_SUBSYS": subsystems}))
    assert proof is not None and (proof["elsewhere"] is not None) is compares


def test_what_is_set_outside_of_the_launch_goes_with_the_job() -> None:
    inherited = [
        {"kind": "login", "source": "login", "variables": {"NCCL_IB_HCA": "mlx5_0"}},
        {"kind": "nccl", "source": "/etc/nccl.conf", "variables": {"NCCL_IB_HCA": "mlx5_1"}},
        {"kind": "image", "source": "image a:1", "variables": {"NCCL_ALGO": "Ring"}},
    ]
    proof = proof_of(planned(env={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}, facts={"inherited": inherited}))
    assert proof is not None
    known = {(item["name"], item["value"], item["origin"], item["layer"]) for item in proof["elsewhere"]}
    assert known == {
        ("NCCL_IB_HCA", "mlx5_0", "login", "login"),
        ("NCCL_IB_HCA", "mlx5_1", "/etc/nccl.conf", "nccl.conf"),
        ("NCCL_ALGO", "Ring", "image a:1", "image"),
    }
