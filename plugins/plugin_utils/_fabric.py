# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric: rdma or tcp, and why. (`_fabric.py` is private to the collection.)"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding, names


@dataclasses.dataclass(frozen=True)
class Fabric:
    """What the ranks talk over, and why."""

    value: Literal["rdma", "tcp"]
    reason: str


def decide(mode: str, origin: str, hcas: Mapping[str, Sequence[str]]) -> tuple[Fabric, list[Finding]]:
    """Choose the fabric; hcas is the RDMA devices by node. Under mode=rdma a node without any is an error."""
    without = [node for node, devices in hcas.items() if not devices]
    if mode == "tcp":
        return Fabric("tcp", f"mode=tcp ({origin})"), []
    if mode == "rdma":
        return Fabric("rdma", f"mode=rdma ({origin})"), [_no_hca(node, origin) for node in without]
    if not without:
        return Fabric("rdma", "every node has RDMA devices"), []
    if len(without) == len(hcas):
        return Fabric("tcp", "no node has RDMA devices"), []
    return Fabric("tcp", f"no RDMA devices on {names(without)}"), [_mixed(node) for node in without]


def _no_hca(node: str, origin: str) -> Finding:
    return Finding(
        check="fabric",
        node=node,
        status="fail",
        observed="no RDMA device under /sys/class/infiniband",
        expected="at least one, as mode=rdma",
        source=origin,
        remedy="load the adapter's driver there, take the node out of the group nodes, or choose -e mode=tcp",
    )


def _mixed(node: str) -> Finding:
    return Finding(
        check="fabric",
        node=node,
        status="warn",
        observed="no RDMA device, while other nodes have some",
        expected="RDMA devices on all nodes or on none",
        source="mode=auto",
        remedy="choose -e mode=tcp, so that NCCL does not try RDMA between nodes that cannot all use it",
    )
