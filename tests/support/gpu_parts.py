# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of nodes to what `gpus` asks, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict

RUN = "multinode_42ch_256th_20261120_143052"
NAME = "NVIDIA H100 80GB HBM3"
Process = Mapping[str, Any]


def address(index: int) -> str:
    return f"0000:{index + 16:02x}:00.0"


def rank(index: int, first: int = 0, run_id: str = RUN) -> dict[str, Any]:
    """A rank on each GPU."""
    who = {"uid": 1000, "user": "ann", "command": "python3", "device": address(index)}
    return {"pid": 4000 + index, **who, "run_id": run_id, "rank": first + index}


def other(index: int, **changes: Any) -> dict[str, Any]:
    """A process of another user."""
    who = {"uid": 1001, "user": "bob", "command": "jupyter", "device": address(index)}
    return {"pid": 5000 + index, **who, "run_id": None, "rank": None, **changes}


def gpu_facts(
    processes: Sequence[Process] | None = (), count: int = 8, number: int = 0, name: str = NAME, **state: Any
) -> dict[str, Any]:
    """The facts of a node with GPUs, as node_facts returns them; state is of all of its GPUs."""
    busy = {process["device"] for process in processes or ()}
    devices = [
        {"index": index, "name": name, "uuid": f"GPU-{index}", "pci_address": address(index), "memory_mib": 81559}
        for index in range(count)
    ]
    states = [
        {
            "index": index,
            "pci_address": address(index),
            "load_percent": 97 + index % 3 if address(index) in busy else 0,
            "memory_used_mib": 71000 + 100 * index if address(index) in busy else 4,
            "temperature_c": 61 + index if address(index) in busy else 30,
            **state,
        }
        for index in range(count)
    ]
    health = {"devices": states}
    node = facts_dict(number, gpu_health=health, gpu_processes=None if processes is None else list(processes))
    return {"node": node, "gpu": {"vendor": "nvidia" if count else None, "count": count, "devices": devices}}


def node_of(name: str, facts: Mapping[str, Any]) -> Node:
    return Node.from_facts(name, facts)


def busy_node(number: int, run_id: str = RUN) -> Node:
    """A node of a run: eight ranks on eight GPUs."""
    return node_of(f"n{number:03d}", gpu_facts([rank(index, 8 * (number - 1), run_id) for index in range(8)]))


def mixed_cluster(size: int) -> list[Node]:
    """A cluster of which all but the last three nodes have a run: one idle, one that is shared, one without GPUs."""
    busy = [busy_node(number) for number in range(1, size - 2)]
    names = [f"n{number:03d}" for number in range(size - 2, size + 1)]
    shared = gpu_facts([other(0), other(0, pid=5100, command="python3"), other(1, user=None)])
    return [*busy, *map(node_of, names, (gpu_facts(), shared, gpu_facts(count=0)))]
