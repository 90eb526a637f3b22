# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D1: one fabric for all nodes, rdma never falls back, NCCL_IB_DISABLE is set on all or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_DEFAULTS
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import (
    FabricPolicy,
    NodeView,
    Resolution,
    resolve,
)
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.rdma_parts import (
    AUTO,
    MUST_RDMA,
    MUST_TCP,
    down,
    efa,
    gpu,
    hca,
    port,
    reasons,
    view,
)

GOOD = [hca("mlx5_0"), hca("mlx5_1")]
DEAD = [hca("mlx5_0", down()), hca("mlx5_1", down())]
RXE = [hca("rxe0", port(layer="Ethernet", usable=False, reasons=["RDMA in software"]), pci_address=None)]
IWARP = [hca("irdma0", port(layer="Ethernet", usable=False, reasons=["it has no RoCE v2 GID: iWARP"]))]
CLOSED = [hca("mlx5_0", port(usable=False, reasons=["/dev/infiniband/uverbs0 is missing"]), uverbs=None)]
PORTLESS = [hca("mlx5_0", ports=[]), hca("mlx5_1", ports=[])]
EFA = [efa("efa_0")]
BY_DEFAULT = FabricPolicy("rdma", LAUNCH_DEFAULTS)


def nodes(*all_hcas: list[Hca] | None, **changes: Any) -> list[NodeView]:
    return [view(f"node{number}", hcas, **changes) for number, hcas in enumerate(all_hcas)]


def first_with_gpus(hcas: list[Hca]) -> list[NodeView]:
    return [view(f"node{number}", hcas, gpu=gpu(count)) for number, count in enumerate((8, 0))]


def disabled(resolution: Resolution) -> list[str | None]:
    """NCCL_IB_DISABLE of every node."""
    return [
        next((variable.value for variable in node.variables if variable.name == "NCCL_IB_DISABLE"), None)
        for node in resolution.nodes.values()
    ]


# What is asked for, the nodes' devices, what is used, and the nodes of which something is found.
DECIDED: dict[str, tuple[FabricPolicy, list[NodeView], str, dict[str, str]]] = {
    "RDMA everywhere": (AUTO, nodes(GOOD, GOOD), "rdma", {}),
    "RDMA on request": (MUST_RDMA, nodes(GOOD, GOOD), "rdma", {}),
    "TCP on request": (MUST_TCP, nodes(GOOD, []), "tcp", {}),
    "TCP on request, without devices": (MUST_TCP, nodes([], []), "tcp", {}),
    "TCP on request, with unknown devices": (MUST_TCP, nodes(None), "tcp", {}),
    "no devices": (AUTO, first_with_gpus([]), "tcp", {"node0": "warn"}),
    "no devices, and no GPUs": (AUTO, nodes([], gpu=gpu(0)), "tcp", {}),
    "devices in software": (AUTO, first_with_gpus(RXE), "tcp", {"node0": "warn"}),
    "one node is down": (AUTO, nodes(GOOD, DEAD, GOOD), "rdma", {"node1": "fail"}),
    "one node is closed": (AUTO, nodes(GOOD, CLOSED, GOOD), "rdma", {"node1": "fail"}),
    "one node has iWARP": (AUTO, nodes(GOOD, IWARP, GOOD), "rdma", {"node1": "fail"}),
    "one node has EFA": (AUTO, nodes(GOOD, GOOD, EFA), "rdma", {"node2": "fail"}),
    "one node has no EFA": (AUTO, nodes(EFA, EFA, GOOD), "rdma", {"node2": "fail", "node0": "warn", "node1": "warn"}),
    "one node has nothing, others EFA": (
        AUTO,
        nodes([], EFA, EFA),
        "rdma",
        {"node0": "fail", "node1": "warn", "node2": "warn"},
    ),
    "half of the nodes are down": (AUTO, nodes(GOOD, DEAD), "tcp", {"node1": "warn"}),
    "half of the nodes are closed": (AUTO, nodes(GOOD, CLOSED), "tcp", {"node1": "warn"}),
    "half of the nodes have iWARP": (AUTO, nodes(GOOD, IWARP), "tcp", {"node1": "warn"}),
    "half of the nodes have EFA": (AUTO, nodes(GOOD, EFA), "tcp", {"node1": "warn"}),
    "half of the nodes have EFA, RDMA on request": (MUST_RDMA, nodes(GOOD, EFA), "rdma", {"node1": "fail"}),
    "down or without": (AUTO, nodes(DEAD, []), "tcp", {"node0": "warn", "node1": "warn"}),
    "RDMA never falls back: down": (BY_DEFAULT, nodes(DEAD, GOOD), "rdma", {"node0": "fail"}),
    "RDMA never falls back: all are down": (BY_DEFAULT, nodes(DEAD, DEAD), "rdma", {"node0": "fail", "node1": "fail"}),
    "RDMA never falls back: closed": (BY_DEFAULT, nodes(CLOSED, GOOD), "rdma", {"node0": "fail"}),
    "RDMA never falls back: in software": (BY_DEFAULT, nodes(RXE, GOOD), "rdma", {"node0": "fail"}),
    "RDMA never falls back: none": (BY_DEFAULT, nodes([], GOOD), "rdma", {"node0": "fail"}),
    "devices without ports": (AUTO, nodes(PORTLESS), "tcp", {"node0": "warn"}),
    "devices without ports, and one that is down": (
        MUST_RDMA,
        nodes([*PORTLESS, hca("mlx5_2", down())]),
        "rdma",
        {"node0": "fail"},
    ),
    "a container without its devices": (MUST_RDMA, nodes(CLOSED, container=True), "rdma", {"node0": "fail"}),
    "unknown devices": (AUTO, nodes(None, GOOD), "rdma", {"node0": "error"}),
    "unknown devices, RDMA on request": (MUST_RDMA, nodes(None, GOOD), "rdma", {"node0": "error"}),
    "EFA": (AUTO, nodes(EFA, EFA), "rdma", {"node0": "warn", "node1": "warn"}),
    "EFA, RDMA on request": (MUST_RDMA, nodes(EFA, EFA), "rdma", {"node0": "warn", "node1": "warn"}),
}


@pytest.mark.parametrize(("policy", "on", "fabric", "statuses"), DECIDED.values(), ids=DECIDED)
def test_the_fabric(policy: FabricPolicy, on: list[NodeView], fabric: str, statuses: dict[str, str]) -> None:
    resolution = resolve(on, policy)
    assert resolution.fabric.value == fabric
    assert disabled(resolution) == ["1" if fabric == "tcp" else None] * len(on)
    assert outcomes(resolution.findings) == [("rdma ports", node, status) for node, status in statuses.items()]


def test_all_nodes_ports_are_looked_at_a_number_of_times_that_grows_with_the_nodes_only() -> None:
    class Counted(list[Hca]):
        looked = 0

        def __iter__(self) -> Iterator[Hca]:
            Counted.looked += 1
            return super().__iter__()

    def looks(count: int) -> int:
        Counted.looked = 0
        views = [view(f"node{number}", DEAD) for number in range(count)]
        for node in views:
            assert node.rdma is not None
            object.__setattr__(node.rdma, "hcas", Counted(DEAD))
        resolve(views, MUST_TCP)
        return Counted.looked

    assert looks(40) <= 4 * looks(10)


def test_an_unusable_transport_is_not_reported_as_used() -> None:
    used, *unusable = (reasons(view(hcas=hcas), MUST_RDMA)["NCCL_IB_DISABLE"] for hcas in (GOOD, DEAD, []))
    assert used not in unusable


@pytest.mark.parametrize("policy", [AUTO, MUST_RDMA])
def test_efa_gets_no_variable_of_verbs(policy: FabricPolicy) -> None:
    assert not [name for name in reasons(view(hcas=EFA), policy) if name.startswith("NCCL_IB")]


def test_tcp_keeps_the_plugin_off_efa() -> None:
    resolution = resolve(nodes(EFA, EFA), MUST_TCP)
    values = {variable.name: (variable.value, variable.origin) for variable in resolution.nodes["node1"].variables}
    assert values["NCCL_NET"] == ("Socket", "-e mode")
    assert values["NCCL_IB_DISABLE"] == ("1", "-e mode")
