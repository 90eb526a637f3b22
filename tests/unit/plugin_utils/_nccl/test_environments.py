# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the nodes' environments: what the resolver decides lies below what users set, and it decides to fit them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Rule
from ansible_collections.muster.train.plugins.module_utils._records.system import Versions
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import Environments, make
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import node, nodes, settings
from ansible_collections.muster.train.tests.support.rdma_parts import down, hca, port, roce

NVIDIA, AMD = {"vendor": "nvidia", "count": 8}, {"vendor": "amd", "count": 8}
HCAS = [*(hca(f"mlx5_{number}") for number in range(4)), roce("mlx5_bond_0", "10.0.0.1", netdev="eth0", rate=100.0)]
RAILS = [roce(f"mlx5_{number}", f"10.2.0.{number + 1}", netdev=f"eth{number + 4}", start=4) for number in range(2)]


def versions(number: int, **known: Any) -> Node:
    """A node whose ranks load a known library."""
    plain = node(number, gpu=AMD if "rccl" in known else NVIDIA, hcas=RAILS)
    return dataclasses.replace(plain, facts=dataclasses.replace(plain.facts, versions=Versions(**known)))


def environments(on: list[Node], of_cluster: Any = None, **changes: Any) -> Environments:
    ranks = {node.name: 8 for node in on}
    return make(on, settings(**changes), of_cluster or {}, "10.0.0.1", ranks)


def of(result: Environments, name: str = "node0") -> dict[str, Variable]:
    return {variable.name: variable for variable in result.nodes[name].variables}


def test_what_is_detected_has_its_rule_and_reason() -> None:
    result = environments(nodes(2, gpu=NVIDIA, hcas=HCAS))
    assert (result.fabric.value, result.findings) == ("rdma", [])
    for name in ("node0", "node1"):
        variable = of(result, name)["NCCL_IB_HCA"]
        assert (variable.value, variable.origin, variable.rule) == ("=mlx5_0,mlx5_1,mlx5_2,mlx5_3", "fabric", "D2")
        assert "NCCL_IB_GID_INDEX" in {variable.name for variable in result.nodes[name].not_set}


def with_rules() -> Environments:
    plain, routed = nodes(2, gpu=NVIDIA, hcas=HCAS)
    assert routed.facts.net is not None
    ruled = dataclasses.replace(routed.facts.net, rules=[Rule(5270, None, "52")])
    return environments([plain, dataclasses.replace(routed, facts=dataclasses.replace(routed.facts, net=ruled))])


def test_policy_routing_does_not_change_the_interface() -> None:
    assert of(with_rules(), "node1")["GLOO_SOCKET_IFNAME"].value == "eth0"


def reason_of_gid(result: Environments) -> str:
    return next(item.reason for item in result.nodes["node0"].not_set if item.name == "NCCL_IB_GID_INDEX")


@pytest.mark.parametrize("layer", ["cluster", "node", "run"])
def test_users_win_in_every_layer_and_the_rest_is_decided_to_fit(layer: str) -> None:
    values = {"NCCL_IB_HCA": "=mlx5_bond_0"}
    on = [node(number, values if layer == "node" else {}, gpu=NVIDIA, hcas=HCAS) for number in range(2)]
    of_run = {"env": values} if layer == "run" else {}
    result = environments(on, values if layer == "cluster" else {}, **of_run)
    assert of(result)["NCCL_IB_HCA"].value == "=mlx5_bond_0"
    assert of(result)["NCCL_IB_HCA"].rule == ""
    # Of the RoCE port that the user chose, not of InfiniBand that the resolver would have.
    assert reason_of_gid(result) != reason_of_gid(environments(nodes(2, gpu=NVIDIA, hcas=HCAS)))
    assert not [finding for finding in result.findings if finding.stops]


def test_the_version_of_the_library_decides_of_the_gid() -> None:
    old, new = versions(0, nccl="2.19.3"), versions(1, nccl="2.27.3")
    result = environments([old, new])
    assert of(result)["NCCL_IB_GID_INDEX"].value == "7"
    assert "NCCL_IB_GID_INDEX" not in of(result, "node1")


@pytest.mark.parametrize(("version", "expected"), [("2.21.5", False), ("2.28.3", True)])
def test_threads_of_rccl(version: str, expected: bool) -> None:
    result = environments([versions(0, rccl=version)], threads=256)
    assert of(result)["NCCL_NTHREADS"].value == "256"
    assert ("RCCL_THREADS_PER_BLOCK" in of(result)) is expected


def of_users() -> Environments:
    on = [node(0, {"NCCL_IB_HCA": "=mlx5_0, mlx5_1"}, gpu=NVIDIA, hcas=HCAS)]
    return environments(on, {"NCCL_NET_GDR_LEVEL": 5, "NCCL_ALGO": "Ring"}, env={"NCCL_PROTO": "Simple"})


def test_what_users_set_is_linted_with_its_origin_and_kept() -> None:
    sources = [finding.source for finding in of_users().findings]
    assert sorted(sources) == ["cluster (launch_env)", "cluster (launch_env)", "node (launch_node_env)"]
    assert of(of_users())["NCCL_IB_HCA"].value == "=mlx5_0, mlx5_1"


def without_rdma() -> list[Finding]:
    closed = hca("mlx5_1", port(usable=False, reasons=["no device node"]), uverbs=None)
    dead = node(0, gpu=NVIDIA, hcas=[hca("mlx5_0", down()), closed], container={"kind": "docker"})
    return environments([dead], mode="rdma").findings


CASES = [
    Case("policy routing", lambda: with_rules().findings, [("interface", "node1", "warn")]),
    Case("values of users", lambda: of_users().findings, [("environment", "node0", "warn")] * 3),
    Case(
        "different values of nodes",
        lambda: environments([node(0, {"NCCL_ALGO": "Ring"}, gpu=NVIDIA), node(1, gpu=NVIDIA)]).findings,
        [(check, name, "warn") for check in ("rdma ports", "environment") for name in ("node0", "node1")],
    ),
    Case("RDMA that cannot be used", without_rdma, [("rdma ports", "node0", "fail")]),
    Case(
        "invalid numbers for unknown GPUs",
        lambda: environments([node(0, gpu=None)], channels=128, threads=1000).findings,
        [("rdma ports", "node0", "warn"), *[("environment", "node0", "warn")] * 2],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_found(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_tcp_asked_for_in_the_run_wins_over_the_clusters_word() -> None:
    on = [node(0, gpu=NVIDIA, hcas=HCAS)]
    assert of(environments(on, {"NCCL_IB_DISABLE": "0"}, mode="tcp"))["NCCL_IB_DISABLE"].value == "1"
    by_default = {"value": "tcp", "origin": "cluster (launch_defaults)", "layer": "cluster"}
    assert of(environments(on, {"NCCL_IB_DISABLE": "0"}, mode=by_default))["NCCL_IB_DISABLE"].value == "0"


def test_a_cluster_without_gpus_is_asked_nothing_of_nccl() -> None:
    result = environments([node(0), node(1)], channels=128, threads=1000)
    assert result.findings == []
    assert [node.not_set for node in result.nodes.values()] == [[], []]
