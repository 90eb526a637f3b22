# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices for tests: trees of sysfs with one port that is up, and what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Port, Rdma
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.rdma_trees import Tree

V1, V2 = "IB/RoCE v1", "RoCE v2"
LL = "fe80:0000:0000:0000:a288:c2ff:fe5b:03ec"
IPV4 = "0000:0000:0000:0000:0000:ffff:0a00:0005"
ROCE = {0: (LL, V1, "rail0"), 1: (LL, V2, "rail0"), 2: (IPV4, V1, "rail0"), 3: (IPV4, V2, "rail0")}


def read(manifest: dict[str, Any], root: Path) -> tuple[Rdma, list[str]]:
    warnings: list[str] = []
    rdma = read_rdma(Machine(manifest, root), warnings.append)
    assert Rdma.from_dict(rdma.to_dict()) == rdma
    return rdma, warnings


def only_port(tree: Tree, root: Path) -> Port:
    """Return the only port of the only device."""
    rdma, warnings = read(tree.manifest, root)
    assert warnings == []
    ((port,),) = (hca.ports for hca in rdma.hcas)
    assert rdma.usable is port.usable is (port.reasons == [])
    return port


def roce(table: Any = None, name: str = "mlx5_0", state: str = "ACTIVE") -> Tree:
    """Return a machine with one RoCE port that is up."""
    tree = Tree()
    tree.port(name, "1", state=state, phys_state="LinkUp", link_layer="Ethernet", rate="400 Gb/sec (4X NDR)")
    tree.gids(name, "1", ROCE if table is None else table)
    return tree


def infiniband(**values: str) -> Tree:
    """Return a machine with one InfiniBand port that is up."""
    tree = Tree()
    wanted = {"state": "ACTIVE", "phys_state": "LinkUp", "link_layer": "InfiniBand", "lid": "298", "sm_lid": "1"}
    tree.port("mlx5_0", "1", **{**wanted, **values})
    return tree
