# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of the lint for the tests: on one node, against a cluster, in a few words."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.lint.lint import lint
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import Fabric
from ansible_collections.muster.train.tests.support.rdma_parts import down, hca, net, roce, view

RDMA, TCP = Fabric("rdma", "every node has usable RDMA ports"), Fabric("tcp", "no node has RDMA devices")
CLUSTER = "cluster (launch_env)"
ELEVEN = [hca(f"mlx5_{number}") for number in range(11)]
MIXED = [hca("mlx5_0"), hca("mlx5_1"), roce("mlx5_bond_0", "10.9.0.1", netdev="eth0"), hca("mlx5_2", down())]


def check(hcas: list[Hca] | None = None, **values: str) -> list[Finding]:
    """Lint a node of these HCAs with these values of the cluster's."""
    environment = [Variable(name, value, CLUSTER, "") for name, value in values.items()]
    return lint(view(hcas=hcas or [], net=INTERFACES), environment, RDMA)


INTERFACES = net(eth0="10.9.0.1/16", eth1="10.1.0.1/24", eth10="10.10.0.1/24")
