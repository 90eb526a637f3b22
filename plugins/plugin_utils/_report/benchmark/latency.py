# SPDX-License-Identifier: GPL-3.0-or-later
"""The time below which NCCL itself expects no collective to come, however small.

By the model with which NCCL chooses an algorithm (src/graph/tuning.cc, protocol LL): a base, and the latency of each
step, within a node and between nodes. Ring and tree are both tried, and the faster one counts. Microseconds.
"""

from __future__ import annotations

import math

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .limits import Setup

RING_BASE, TREE_BASE = 6.6, 6.8
# A step over NVLink, over PCIe, and over the network by a ring and by a tree.
NVLINK_STEP, PCIE_STEP, RING_NET_STEP, TREE_NET_STEP = 0.6, 1.0, 2.7, 5.0
# What can be done in one step of a ring; the model has no all_to_all and send_recv, whose first part is such a step.
ONE_STEP = ("broadcast", "send_recv", "all_to_all")


@frozen
class LatencyLimit:
    """Microseconds, None where no model is known, and how they follow."""

    us: float | None
    reason: str


def latency_limit(setup: Setup, has_nvlink: bool) -> LatencyLimit:
    """Return the least time of a collective by NCCL's model."""
    if setup.backend != "nccl":
        return LatencyLimit(None, "no model of gloo's latency is known")
    if setup.fabric != "rdma" and setup.nodes > 1:
        return LatencyLimit(None, "NCCL's model is for RDMA, and the nodes communicate over TCP")
    step = NVLINK_STEP if has_nvlink else PCIE_STEP
    within, nodes = setup.ranks - setup.nodes, setup.nodes
    if setup.collective in ONE_STEP:
        across = RING_NET_STEP if nodes > 1 else step
        return LatencyLimit(RING_BASE + across, f"{RING_BASE} us and one step of {across} us, by NCCL's model")
    rounds = 2 if setup.collective == "all_reduce" else 1
    ring = RING_BASE + rounds * (within * step + (nodes - 1) * RING_NET_STEP)
    ring_text = f"{RING_BASE} us, {rounds * within} steps of {step} us and {rounds * (nodes - 1)} of {RING_NET_STEP} us"
    if setup.collective != "all_reduce":
        return LatencyLimit(ring, f"a ring: {ring_text}, by NCCL's model")
    levels = int(math.log2(nodes))
    local = setup.per_node - 1
    tree = TREE_BASE + 2 * (local * step + levels * TREE_NET_STEP)
    tree_text = f"{TREE_BASE} us, {2 * local} steps of {step} us and {2 * levels} of {TREE_NET_STEP} us"
    if tree < ring:
        return LatencyLimit(tree, f"a tree: {tree_text}, by NCCL's model")
    return LatencyLimit(ring, f"a ring: {ring_text}, by NCCL's model")
