# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the nodes' environments: what the resolver decides lies below what users set, and it decides to fit them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Rule
from ansible_collections.muster.train.plugins.module_utils._records.system import Container, Versions
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import Environments, make
from ansible_collections.muster.train.tests.support.plan_parts import node, settings
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
    result = environments([node(number, gpu=NVIDIA, hcas=HCAS) for number in range(2)])
    assert (result.fabric.value, result.findings) == ("rdma", [])
    for name in ("node0", "node1"):
        variable = of(result, name)["NCCL_IB_HCA"]
        assert (variable.value, variable.origin, variable.rule) == ("=mlx5_0,mlx5_1,mlx5_2,mlx5_3", "fabric", "D2")
        assert "NCCL_IB_GID_INDEX" in {variable.name for variable in result.nodes[name].not_set}


def test_policy_routing_is_a_warning_where_it_may_change_the_interface() -> None:
    nodes = [node(number, gpu=NVIDIA, hcas=HCAS) for number in range(2)]
    assert nodes[1].facts.net is not None
    ruled = dataclasses.replace(nodes[1].facts.net, rules=[Rule(5270, None, "52")])
    nodes[1] = dataclasses.replace(nodes[1], facts=dataclasses.replace(nodes[1].facts, net=ruled))
    [finding] = environments(nodes).findings
    assert (finding.check, finding.node, finding.status) == ("interface", "node1", "warn")
    assert "5270 (table 52)" in finding.observed
    assert of(environments(nodes), "node1")["GLOO_SOCKET_IFNAME"].value == "eth0"


@pytest.mark.parametrize("layer", ["cluster", "node", "run"])
def test_users_win_in_every_layer_and_the_rest_is_decided_to_fit(layer: str) -> None:
    values = {"NCCL_IB_HCA": "=mlx5_bond_0"}
    on = [node(number, values if layer == "node" else {}, gpu=NVIDIA, hcas=HCAS) for number in range(2)]
    of_run = {"env": values} if layer == "run" else {}
    result = environments(on, values if layer == "cluster" else {}, **of_run)
    assert of(result)["NCCL_IB_HCA"].value == "=mlx5_bond_0"
    assert of(result)["NCCL_IB_HCA"].rule == ""
    # Of the RoCE port that the user chose, not of InfiniBand that the resolver would have.
    reasons = {variable.name: variable.reason for variable in result.nodes["node0"].not_set}
    assert "RoCE v2 entry" in reasons["NCCL_IB_GID_INDEX"]
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


def test_what_users_set_is_linted_with_its_origin_and_kept() -> None:
    on = [node(0, {"NCCL_IB_HCA": "=mlx5_0, mlx5_1"}, gpu=NVIDIA, hcas=HCAS)]
    result = environments(on, {"NCCL_NET_GDR_LEVEL": 5, "NCCL_ALGO": "Ring"}, env={"NCCL_PROTO": "Simple"})
    warnings = {(finding.source, finding.observed.partition(":")[0]) for finding in result.findings}
    assert warnings == {
        ("node (launch_node_env)", "NCCL_IB_HCA==mlx5_0, mlx5_1"),
        ("cluster (launch_env)", "NCCL_NET_GDR_LEVEL=5"),
        ("cluster (launch_env)", "set for every run"),
    }
    assert of(result)["NCCL_IB_HCA"].value == "=mlx5_0, mlx5_1"
    assert {finding.status for finding in result.findings} == {"warn"}


def test_different_choices_on_nodes_are_reported() -> None:
    on = [node(0, {"NCCL_ALGO": "Ring"}, gpu=NVIDIA), node(1, gpu=NVIDIA)]
    assert "NCCL_ALGO is not set" in [finding.observed for finding in environments(on).findings]


def test_rdma_that_cannot_be_used_is_one_line_per_node_that_names_each_device() -> None:
    container = dataclasses.replace(node(0).facts, container=Container("docker"))
    closed = hca("mlx5_1", port(usable=False, reasons=["no device node"]), uverbs=None)
    dead = dataclasses.replace(node(0, gpu=NVIDIA, hcas=[hca("mlx5_0", down()), closed]), facts=container)
    [finding] = [finding for finding in environments([dead], mode="rdma").findings if finding.stops]
    assert "mlx5_0: state DOWN; mlx5_1: no device node" in finding.observed
    assert "give the container" in str(finding.remedy)


def test_tcp_asked_for_in_the_run_wins_over_the_clusters_word() -> None:
    on = [node(0, gpu=NVIDIA, hcas=HCAS)]
    assert of(environments(on, {"NCCL_IB_DISABLE": "0"}, mode="tcp"))["NCCL_IB_DISABLE"].value == "1"
    by_default = {"value": "tcp", "origin": "cluster (launch_defaults)", "layer": "cluster"}
    assert of(environments(on, {"NCCL_IB_DISABLE": "0"}, mode=by_default))["NCCL_IB_DISABLE"].value == "0"


def test_invalid_numbers_are_reported_even_without_known_gpus() -> None:
    result = environments([node(0, gpu=None)], channels=128, threads=1000)
    observed = [finding.observed for finding in result.findings if finding.check == "environment"]
    assert observed == ["channels=128", "threads=1000"]


def test_a_cluster_without_gpus_is_asked_nothing_of_nccl() -> None:
    result = environments([node(0), node(1)], channels=128, threads=1000)
    assert result.findings == []
    assert [node.not_set for node in result.nodes.values()] == [[], []]
