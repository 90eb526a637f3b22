# SPDX-License-Identifier: GPL-3.0-or-later
"""Bandwidths as nccl-tests defines them (doc/PERFORMANCE.md there), in GB/s of 10^9 bytes.

The algorithm bandwidth is the size divided by the time. The bus bandwidth is that times a factor, so that it can be
compared with what a link carries in one direction, whatever the number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable

GB = 1e9

# By the number of ranks n: which part of the size crosses each rank's link in one direction.
FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "send_recv": lambda n: 1.0,
}


def algorithm_bandwidth(size: int, seconds: float) -> float:
    """Return algbw in GB/s; 0 for a time that a clock could not tell from none."""
    return size / seconds / GB if seconds > 0 else 0.0


def bus_bandwidth(collective: str, ranks: int, size: int, seconds: float) -> float:
    """Return busbw in GB/s."""
    return algorithm_bandwidth(size, seconds) * FACTORS[collective](ranks)


def crossing(collective: str, nodes: int, per_node: int) -> float:
    """Return which part of the size crosses the network of the busiest node in one direction, at the least.

    That is without a switch that sums (SHARP), for a group of so many ranks on each of its nodes.
    """
    if collective == "all_to_all":  # each rank of a node sends its parts for the ranks of other nodes
        return per_node * (nodes - 1) / nodes
    # A ring of messages leaves each node once; for all else the ranks of a node can act as one.
    return FACTORS[collective](nodes)
