# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D8: the topology file of a VM."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import TopologyFile
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import NodeView, resolve
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, gpu, hca, view

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


def test_the_file_of_a_cloud_is_named() -> None:
    node = virtual(topology_file=AZURE)
    assert value(node) == AZURE.path
    assert resolve([node], AUTO).findings == []


def test_the_file_that_nccl_finds_is_not_named() -> None:
    node = virtual(topology_file=TopologyFile("/var/run/nvidia-topologyd/virtualTopology.xml", None))
    assert value(node) is None
    [reason] = [item.reason for item in resolve([node], AUTO).nodes["node0"].not_set if item.name == NAME]
    assert "by itself" in reason


def test_a_users_file_is_the_answer() -> None:
    node = virtual(topology_file=AZURE, user_values={NAME: "/data/topo.xml"})
    assert value(node) is None
    assert resolve([virtual(user_values={NAME: "/data/topo.xml"})], AUTO).findings == []


def test_a_vm_without_a_file_has_no_gpudirect() -> None:
    [finding] = resolve([virtual()], AUTO).findings
    assert (finding.check, finding.status) == ("environment", "warn")
    assert "GPUDirect RDMA" in finding.observed


@pytest.mark.parametrize(
    "node",
    [virtual(NEAR), virtual(virtual=False), virtual(virtual=None), virtual(gpu(2))],
    ids=["near", "no VM", "unknown", "no relations"],
)
def test_what_needs_no_file(node: NodeView) -> None:
    assert resolve([node], AUTO).findings == []
