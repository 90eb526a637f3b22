# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D8: the topology file of a VM."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import TopologyFile
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import NodeView, resolve
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, gpu, hca, reasons, view

FAR = gpu(2, near=[(0, "mlx5_0", "SYS"), (0, "mlx5_1", "NODE"), (1, "mlx5_0", "NODE"), (1, "mlx5_1", "SYS")])
NEAR = gpu(2, near=[(0, "mlx5_0", "PXB"), (1, "mlx5_1", "PIX")])
AZURE = TopologyFile("/opt/microsoft/ndv4-topo.xml", "/etc/nccl.conf")
NAME = "NCCL_TOPO_FILE"


def virtual(of: Any = FAR, **changes: Any) -> NodeView:
    user_values = changes.pop("user_values", {})
    gpus = dataclasses.replace(of, **{"virtual": True, **changes})
    return view(hcas=[hca("mlx5_0"), hca("mlx5_1")], gpu=gpus, user_values=user_values)


def value(node: NodeView) -> str | None:
    variables = resolve([node], AUTO).nodes["node0"].variables
    return next((variable.value for variable in variables if variable.name == NAME), None)


KNOWN_TO_NCCL = virtual(topology_file=TopologyFile("/var/run/nvidia-topologyd/virtualTopology.xml", None))
CASES = [Case("none", lambda: resolve([virtual()], AUTO).findings, [("environment", "node0", "warn")])]


def test_a_vm_without_a_file_has_no_gpudirect() -> None:
    assert [outcomes(case.find()) for case in CASES] == [case.outcomes for case in CASES]


def test_the_file_of_a_cloud_is_named() -> None:
    node = virtual(topology_file=AZURE)
    assert value(node) == AZURE.path
    assert resolve([node], AUTO).findings == []


def test_the_file_that_nccl_finds_is_not_named() -> None:
    assert value(KNOWN_TO_NCCL) is None
    assert NAME in reasons(KNOWN_TO_NCCL)


def test_a_users_file_is_the_answer() -> None:
    node = virtual(topology_file=AZURE, user_values={NAME: "/data/topo.xml"})
    assert value(node) is None
    assert resolve([virtual(user_values={NAME: "/data/topo.xml"})], AUTO).findings == []


@pytest.mark.parametrize(
    "node",
    [virtual(NEAR), virtual(virtual=False), virtual(virtual=None), virtual(gpu(2))],
    ids=["near", "no VM", "unknown", "no relations"],
)
def test_what_needs_no_file(node: NodeView) -> None:
    assert resolve([node], AUTO).findings == []
