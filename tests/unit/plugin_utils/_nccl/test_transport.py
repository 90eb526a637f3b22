# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D1: one fabric for all nodes, rdma never falls back, NCCL_IB_DISABLE is set on all or none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_DEFAULTS
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import (
    FabricPolicy,
    NodeView,
    Resolution,
    resolve,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import Fabric
from ansible_collections.muster.train.tests.support.rdma_parts import (
    AUTO,
    MUST_RDMA,
    MUST_TCP,
    down,
    efa,
    hca,
    port,
    view,
)

GOOD = [hca("mlx5_0"), hca("mlx5_1")]
DEAD = [hca("mlx5_0", down()), hca("mlx5_1", down())]
RXE = [hca("rxe0", port(layer="Ethernet", usable=False, reasons=["RDMA in software"]), pci_address=None)]
IWARP = [hca("irdma0", port(layer="Ethernet", usable=False, reasons=["it has no RoCE v2 GID: iWARP"]))]
CLOSED = [hca("mlx5_0", port(usable=False, reasons=["/dev/infiniband/uverbs0 is missing"]), uverbs=None)]


PORTLESS = [hca("mlx5_0", ports=[]), hca("mlx5_1", ports=[])]


def nodes(*all_hcas: list[Hca]) -> list[NodeView]:
    return [view(f"node{number}", hcas) for number, hcas in enumerate(all_hcas)]


def disabled(resolution: Resolution) -> list[str | None]:
    """NCCL_IB_DISABLE of every node."""
    return [
        next((variable.value for variable in node.variables if variable.name == "NCCL_IB_DISABLE"), None)
        for node in resolution.nodes.values()
    ]


@pytest.mark.parametrize(
    ("policy", "hcas", "fabric", "disable"),
    [
        (AUTO, [GOOD, GOOD], Fabric("rdma", "every node has usable RDMA ports"), None),
        (MUST_RDMA, [GOOD, GOOD], Fabric("rdma", "mode=rdma (-e mode)"), None),
        (MUST_TCP, [[], []], Fabric("tcp", "mode=tcp (-e mode)"), "1"),
        (MUST_TCP, [GOOD, []], Fabric("tcp", "mode=tcp (-e mode)"), "1"),
    ],
)
def test_decided_without_a_word(
    policy: FabricPolicy, hcas: list[list[Hca]], fabric: Fabric, disable: str | None
) -> None:
    resolution = resolve(nodes(*hcas), policy)
    assert resolution.fabric == fabric
    assert disabled(resolution) == [disable, disable]
    assert resolution.findings == []


@pytest.mark.parametrize(
    ("hcas", "reason"), [([], "no node has RDMA devices"), (RXE, "no node has a usable RDMA port")]
)
def test_tcp_that_was_not_requested_is_a_warning_on_nodes_with_gpus(hcas: list[Hca], reason: str) -> None:
    with_gpus, without = (view(name, hcas, gpu=Gpu("nvidia", count)) for name, count in (("a", 8), ("b", 0)))
    resolution = resolve([with_gpus, without], AUTO)
    assert resolution.fabric == Fabric("tcp", reason)
    assert disabled(resolution) == ["1", "1"]
    assert [(finding.node, finding.status) for finding in resolution.findings] == [("a", "warn")]
    assert "-e mode=tcp" in str(resolution.findings[0].remedy)
    assert resolve([without], AUTO).findings == []


@pytest.mark.parametrize(("bad", "why"), [(DEAD, "state DOWN"), (CLOSED, "uverbs0 is missing"), (IWARP, "iWARP")])
def test_auto_refuses_a_minority_without_rdma(bad: list[Hca], why: str) -> None:
    resolution = resolve(nodes(GOOD, bad, GOOD), AUTO)
    assert resolution.fabric == Fabric("rdma", "most nodes have usable RDMA ports")
    assert disabled(resolution) == [None, None, None]
    [finding] = resolution.findings
    assert (finding.check, finding.node, finding.status) == ("rdma ports", "node1", "fail")
    assert why in line(finding)
    assert "-e mode=tcp" in line(finding)


def test_auto_refuses_a_minority_of_another_kind() -> None:
    assert resolve(nodes(GOOD, GOOD, [efa("efa_0")]), AUTO).fabric.value == "rdma"
    cases: list[tuple[list[list[Hca]], str]] = [
        ([GOOD, GOOD, [efa("efa_0")]], "node2"),
        ([[efa("efa_0")], [efa("efa_0")], GOOD], "node2"),
        ([[], [efa("efa_0")], [efa("efa_0")]], "node0"),
    ]
    for hcas, odd in cases:
        stops = [finding for finding in resolve(nodes(*hcas), AUTO).findings if finding.stops]
        assert [(finding.check, finding.node) for finding in stops] == [("rdma ports", odd)]
    [working] = [finding for finding in resolve(nodes(*cases[1][0]), AUTO).findings if finding.stops]
    assert working.observed == "RDMA ports, but no usable EFA device"
    assert str(working.remedy).startswith("take the nodes of one kind out of the group nodes")


@pytest.mark.parametrize(("bad", "why"), [(DEAD, "state DOWN"), (CLOSED, "uverbs0 is missing"), (IWARP, "iWARP")])
def test_auto_with_usable_rdma_on_half_of_the_nodes_is_tcp_on_all_with_a_warning(bad: list[Hca], why: str) -> None:
    resolution = resolve(nodes(GOOD, bad), AUTO)
    assert resolution.fabric == Fabric("tcp", "no usable RDMA on node1")
    assert disabled(resolution) == ["1", "1"]
    [finding] = resolution.findings
    assert (finding.node, finding.status) == ("node1", "warn")
    assert why in line(finding)


def test_auto_explains_why_existing_adapters_are_not_used() -> None:
    resolution = resolve(nodes(DEAD, []), AUTO)
    assert resolution.fabric == Fabric("tcp", "no node has a usable RDMA port")
    assert disabled(resolution) == ["1", "1"]
    assert [(finding.node, finding.status) for finding in resolution.findings] == [("node0", "warn"), ("node1", "warn")]
    assert "mlx5_0, mlx5_1: state DOWN" in resolution.findings[0].observed


@pytest.mark.parametrize("hcas", [[DEAD, GOOD], [DEAD, DEAD], [CLOSED, GOOD], [RXE, GOOD], [[], GOOD]])
def test_rdma_never_falls_back_and_explains_every_device(hcas: list[list[Hca]]) -> None:
    resolution = resolve(nodes(*hcas), FabricPolicy("rdma", LAUNCH_DEFAULTS))
    assert resolution.fabric.value == "rdma"
    stops = [finding for finding in resolution.findings if finding.stops]
    assert "node0" in [finding.node for finding in stops]
    for device in hcas[0]:
        assert device.name in stops[0].observed
    assert "(cluster (launch_defaults))" in line(stops[0])
    assert "-e mode=tcp" in line(stops[0])
    assert disabled(resolution) == [None, None]


def test_devices_without_ports_are_named_not_denied() -> None:
    [finding] = resolve([view(hcas=[*PORTLESS, hca("mlx5_2", down())])], MUST_RDMA).findings
    assert finding.observed == "no usable RDMA port (mlx5_2: state DOWN; mlx5_0, mlx5_1: has no port)"
    resolution = resolve([view(hcas=PORTLESS)], AUTO)
    assert resolution.fabric.reason == "no node has a usable RDMA port"
    assert "mlx5_0, mlx5_1: has no port" in resolution.findings[0].observed


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


@pytest.mark.parametrize(("hcas", "word"), [(GOOD, "RDMA is used"), (DEAD, "is not usable here"), ([], "not usable")])
def test_an_unusable_transport_is_not_reported_as_used(hcas: list[Hca], word: str) -> None:
    [left] = [
        variable
        for variable in resolve([view(hcas=hcas)], MUST_RDMA).nodes["node0"].not_set
        if variable.name == "NCCL_IB_DISABLE"
    ]
    assert word in left.reason


def test_missing_devices_of_a_container_are_named() -> None:
    [finding] = resolve([view(hcas=CLOSED, container=True)], MUST_RDMA).findings
    assert "give the container /dev/infiniband" in str(finding.remedy)


@pytest.mark.parametrize("policy", [AUTO, MUST_RDMA])
def test_unreadable_devices_are_an_error(policy: FabricPolicy) -> None:
    resolution = resolve([view("a", None), view("b", GOOD)], policy)
    assert [(finding.node, finding.status) for finding in resolution.findings] == [("a", "error")]


def test_unreadable_devices_do_not_matter_for_tcp() -> None:
    assert resolve([view("a", None)], MUST_TCP).findings == []


@pytest.mark.parametrize("policy", [AUTO, MUST_RDMA])
def test_efa_is_rdma_through_its_plugin_and_gets_no_variable_of_verbs(policy: FabricPolicy) -> None:
    resolution = resolve(nodes([efa("rdmap0s6")], [efa("rdmap0s6")]), policy)
    assert resolution.fabric.value == "rdma"
    assert [finding.status for finding in resolution.findings] == ["warn", "warn"]
    assert "aws-ofi-nccl" in resolution.findings[0].expected
    names = {variable.name for node in resolution.nodes.values() for variable in node.variables}
    names |= {variable.name for node in resolution.nodes.values() for variable in node.not_set}
    assert {name for name in names if name.startswith("NCCL_IB")} == set()


def test_tcp_keeps_the_plugin_off_efa() -> None:
    resolution = resolve(nodes([efa("efa_0")], [efa("efa_0")]), MUST_TCP)
    values = {variable.name: (variable.value, variable.origin) for variable in resolution.nodes["node1"].variables}
    assert values["NCCL_NET"] == ("Socket", "-e mode")
    assert values["NCCL_IB_DISABLE"] == ("1", "-e mode")


def test_efa_and_infiniband_do_not_meet() -> None:
    assert resolve(nodes(GOOD, [efa("efa_0")]), AUTO).fabric.value == "tcp"
    stops = [finding for finding in resolve(nodes(GOOD, [efa("efa_0")]), MUST_RDMA).findings if finding.stops]
    assert [finding.node for finding in stops] == ["node1"]
