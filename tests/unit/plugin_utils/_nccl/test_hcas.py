# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D2: which HCAs are chosen, when NCCL_IB_HCA is written, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import NodeView, resolve
from ansible_collections.muster.train.tests.support.rdma_parts import (
    AUTO,
    MUST_RDMA,
    down,
    gids,
    gpu,
    hca,
    net,
    port,
    roce,
    view,
)

EIGHT = [hca(f"mlx5_{number}") for number in range(8)]
BOND = roce("mlx5_bond_0", "10.9.0.1", netdev="eth0", rate=200.0, hca_type="MT41692")
NO_GID: dict[str, Any] = {"usable": False, "reasons": ["its GID table is empty"]}
NO_SM: dict[str, Any] = {"sm_lid": 0, "usable": False, "reasons": ["sm_lid is 0: there is no subnet manager"]}
SOFTWARE = hca("rxe0", port(layer="Ethernet", usable=False, reasons=["RDMA in software"]), pci_address=None)
PHANTOM = hca("mlx5_8", port(layer="Ethernet", rate=40.0, **NO_GID), hca_type="MT4120")


def value(node: NodeView, *others: NodeView) -> str | None:
    """NCCL_IB_HCA of the first of these nodes."""
    environment = resolve([node, *others], AUTO).nodes[node.name]
    return next((variable.value for variable in environment.variables if variable.name == "NCCL_IB_HCA"), None)


def findings(*nodes: NodeView, check: str = "rdma ports") -> list[Finding]:
    return [finding for finding in resolve(nodes, MUST_RDMA).findings if finding.check == check]


ALL_OF = "=" + ",".join(f"mlx5_{number}" for number in range(8))


@pytest.mark.parametrize(
    ("hcas", "expected"),
    [
        (EIGHT, None),
        ([*EIGHT, BOND], ALL_OF),
        ([*EIGHT, PHANTOM], ALL_OF),
        ([*EIGHT, roce("mlx5_8", "10.2.0.1", rate=400.0)], ALL_OF),
        ([*EIGHT, hca("mlx5_8", port(rate=100.0))], ALL_OF),
        ([*EIGHT, hca("mlx5_8", port(**NO_SM))], ALL_OF),
        ([*EIGHT, hca("mlx5_8", down())], None),
        ([*EIGHT, SOFTWARE], ALL_OF),
        ([hca("mlx5_10"), hca("mlx5_9"), BOND], "=mlx5_9,mlx5_10"),
        ([hca("mlx4_0", port(1), down())], None),
        ([hca("mlx4_0", port(1), down(number=2))], None),
        ([hca("mlx4_0", port(1), port(2, "Ethernet", 40.0))], "=mlx4_0:1"),
        ([hca("mlx4_1", port(1), port(2, rate=10.0)), hca("mlx4_0")], "=mlx4_0,mlx4_1:1"),
        ([roce("mlx5_0", "10.2.0.1"), roce("mlx5_1", "10.2.0.2", rate=100.0)], "=mlx5_0"),
    ],
    ids=str,
)
def test_the_fastest_group_of_one_link_layer(hcas: list[Hca], expected: str | None) -> None:
    assert value(view(hcas=hcas)) == expected


def test_excluded_devices_are_reported_with_the_reason() -> None:
    environment = resolve([view(hcas=[*EIGHT, BOND])], AUTO).nodes["node0"]
    [variable] = [variable for variable in environment.variables if variable.name == "NCCL_IB_HCA"]
    assert (variable.rule, variable.origin) == ("D2", "fabric")
    assert variable.reason == "8 InfiniBand ports of 400 Gb/s; mlx5_bond_0 carries the default route (eth0)"
    assert environment.hcas == [f"mlx5_{number}" for number in range(8)]


def test_broken_devices_are_excluded_with_their_reason_and_others() -> None:
    closed = [
        hca(f"mlx5_{number}", port(usable=False, reasons=[f"/dev/infiniband/uverbs{number} is missing", "not granted"]))
        for number in (9, 10)
    ]
    environment = resolve([view(hcas=[*EIGHT, BOND, PHANTOM, *closed])], AUTO).nodes["node0"]
    [variable] = [variable for variable in environment.variables if variable.name == "NCCL_IB_HCA"]
    assert variable.reason == (
        "8 InfiniBand ports of 400 Gb/s; mlx5_bond_0 carries the default route (eth0); "
        "without mlx5_8: its GID table is empty; mlx5_9, mlx5_10: /dev/infiniband/uverbs9 is missing (and similar)"
    )


def test_a_port_whose_subnet_manager_is_gone_is_named_as_its_sisters_that_are_down() -> None:
    [finding] = findings(view(hcas=[hca("mlx5_0", port(**NO_SM)), *EIGHT[1:7], hca("mlx5_7", down())]))
    assert finding.status == "warn"
    assert "mlx5_0 ACTIVE, sm_lid 0; mlx5_7 DOWN, Disabled" in finding.observed
    other = hca("mlx5_0", port(**NO_SM), board_id="MT_0000000455")
    assert findings(view(hcas=[other, *EIGHT[1:]])) == []


def test_all_that_nccl_takes_anyway_is_not_written() -> None:
    environment = resolve([view(hcas=EIGHT)], AUTO).nodes["node0"]
    [left] = [variable for variable in environment.not_set if variable.name == "NCCL_IB_HCA"]
    assert (left.rule, left.reason) == (
        "D2",
        "NCCL takes all ACTIVE ports, and these are the 8 InfiniBand ports of 400 Gb/s",
    )


@pytest.mark.parametrize("interface", ["eth0", "eth0.120"])
@pytest.mark.parametrize("layer", ["Ethernet"])
def test_the_default_routes_port_is_left_out_even_at_the_same_rate(interface: str, layer: str) -> None:
    rails = [roce(f"mlx5_{number}", f"10.2.0.{number}", netdev=f"eth{number + 1}") for number in range(2)]
    default_route = roce("mlx5_9", "10.9.0.1", netdev="eth0")
    assert value(view(hcas=[*rails, default_route], net=net(default=interface))) == "=mlx5_0,mlx5_1"


def test_a_bonds_default_route_is_known_by_its_gids() -> None:
    table = gids("fe80::1", "10.9.0.1", ndev="bond0")
    bond = hca("mlx5_bond_0", port(layer="Ethernet", netdev="eth4", gids=table), netdevs=["eth4", "eth5"])
    rails = [roce("mlx5_0", "10.2.0.1", netdev="eth1")]
    assert value(view(hcas=[*rails, bond], net=net(default="bond0"))) == "=mlx5_0"


def test_one_nic_for_everything_stays_with_a_warning() -> None:
    node = view(hcas=[roce("mlx5_0", "10.9.0.1", netdev="eth0")])
    assert value(node) is None
    [finding] = findings(node)
    assert finding.status == "warn"
    assert "mlx5_0 carries the default route (eth0), and no other RDMA port is usable" in finding.observed


@pytest.mark.parametrize("rate", [25.0, 400.0])
def test_the_port_with_the_default_route_is_left_out_however_fast_it_is(rate: float) -> None:
    default_route = roce("mlx5_0", "10.9.0.1", netdev="eth0", rate=800.0)
    rails = [roce(f"bnxt_re{number}", f"10.1.{number}.1", rate=rate, netdev=f"eth{number + 5}") for number in range(2)]
    node = view(hcas=[default_route, *rails])
    assert value(node) == "=bnxt_re0,bnxt_re1"
    assert findings(node) == []
    assert value(view(hcas=[default_route, hca("mlx5_1", port(rate=100.0))])) == "=mlx5_1"


def test_infiniband_that_is_slower_than_ethernet_is_a_question() -> None:
    slow = [hca(f"mlx5_{number}", port(rate=100.0)) for number in range(2)]
    node = view(hcas=[*slow, roce("mlx5_9", "10.2.0.1", netdev="eth3")])
    [finding] = findings(node)
    assert finding.status == "fail"
    assert "InfiniBand (mlx5_0, mlx5_1, 100 Gb/s) is slower than Ethernet (mlx5_9, 400 Gb/s)" in finding.observed
    assert "launch_node_env" in str(finding.remedy)
    answered = view(hcas=node.rdma.hcas if node.rdma else [], user_values={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"})
    assert findings(answered) == []
    assert resolve([answered], MUST_RDMA).nodes["node0"].hcas == ["mlx5_0", "mlx5_1"]


def near(*pairs: tuple[int, str]) -> list[tuple[int, str, str]]:
    return [(index, name, "PXB" if index % 2 else "PIX") for index, name in pairs]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (near(*((index, f"mlx5_{index}") for index in range(8))), ALL_OF),
        (near(*((index, f"mlx5_{index}") for index in range(7))), None),
        ([(index, f"mlx5_{index}", "SYS") for index in range(8)], None),
        (near(*((index, f"mlx5_{index // 2}") for index in range(8))), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3"),
        ([], None),
    ],
    ids=["every GPU has one", "one GPU has none", "all far", "shared", "unknown"],
)
def test_storage_adapters_of_the_same_rate_are_recognized_by_the_gpus(
    links: list[tuple[int, str, str]], expected: str | None
) -> None:
    storage = [hca("mlx5_8"), hca("mlx5_9")]
    assert value(view(hcas=[*EIGHT, *storage], gpu=gpu(8, links))) == expected


def test_nic_labels_of_the_vendors_tool_are_understood() -> None:
    labeled = gpu(1, [(0, "NIC1", "PIX")])
    labeled = type(labeled)(**{**vars(labeled), "nics": {"NIC0": "mlx5_0", "NIC1": "mlx5_1"}})
    assert value(view(hcas=[hca("mlx5_0"), hca("mlx5_1")], gpu=labeled)) == "=mlx5_1"


def test_lost_links_of_the_same_cards_are_named() -> None:
    lost = hca("mlx5_5", down())
    polling = hca("mlx5_11", down(phys_state="Polling"))
    unused = hca("mlx5_1", down(), hca_type="MT4125")
    [finding] = findings(view(hcas=[*EIGHT[:5], lost, polling, unused]))
    assert finding.status == "warn"
    assert "mlx5_5 DOWN, Disabled; mlx5_11 DOWN, Polling" in finding.observed
    assert "mlx5_1 " not in finding.observed
    storage = hca("mlx5_5", down(), board_id="MT_0000000455")
    assert findings(view(hcas=[*EIGHT[:5], storage])) == []


@pytest.mark.parametrize(
    ("odd", "observed"),
    [
        (EIGHT[:7], "7 InfiniBand ports of 400 Gb/s"),
        ([hca(f"mlx5_{number}", port(rate=200.0)) for number in range(8)], "8 InfiniBand ports of 200 Gb/s"),
        ([roce(f"mlx5_{number}", f"10.2.0.{number}") for number in range(8)], "8 Ethernet ports of 400 Gb/s"),
    ],
)
def test_nodes_whose_ports_differ_do_not_fit(odd: list[Hca], observed: str) -> None:
    all_nodes = [view("a", EIGHT), view("b", odd), view("c", EIGHT)]
    [finding] = findings(*all_nodes)
    assert (finding.node, finding.status) == ("b", "fail")
    assert finding.observed.startswith(observed)
    assert finding.expected == "8 InfiniBand ports of 400 Gb/s, as on a and c"


def test_a_number_that_users_chose_is_a_warning_but_layers_never_meet() -> None:
    chosen = view("a", EIGHT, user_values={"NCCL_IB_HCA": "mlx5_0"})
    assert [finding.status for finding in findings(chosen, view("b", EIGHT), view("c", EIGHT))] == ["warn"]
    mixed = view("a", [*EIGHT, BOND], user_values={"NCCL_IB_HCA": "=mlx5_bond_0"})
    assert [finding.status for finding in findings(mixed, view("b", EIGHT), view("c", EIGHT))] == ["fail"]


@pytest.mark.parametrize("name", ["a,b", "x:1"])
def test_names_that_the_list_cannot_hold_are_never_written(name: str) -> None:
    odd = hca(name)
    assert value(view(hcas=[hca("mlx5_0"), odd])) is None
    assert findings(view(hcas=[hca("mlx5_0"), odd])) == []
    node = view(hcas=[hca("mlx5_0"), odd, BOND])
    assert value(node) == "=mlx5_0"
    [finding] = findings(node)
    assert (finding.status, finding.observed) == ("warn", f"NCCL_IB_HCA cannot name {name}: they are left out")
    alone = view(hcas=[odd, BOND])
    assert value(alone) is None
    assert "NCCL takes every ACTIVE port" in findings(alone)[0].observed


def test_infiniband_with_the_default_route_is_the_fabric_itself() -> None:
    """IPoIB on one of the rails, as on nodes without any other network."""
    rails = [hca(f"mlx5_{number}", port(netdev=f"ib{number}")) for number in range(4)]
    node = view(hcas=rails, net=net(default="ib0", ib0="10.9.0.1/16"))
    assert value(node) is None
    assert findings(node) == []
    assert len(resolve([node], AUTO).nodes["node0"].hcas) == 4


def test_a_port_with_lost_lanes_is_named() -> None:
    [finding] = findings(view(hcas=[hca("mlx5_3", port(rate=200.0)), *EIGHT[:3], *EIGHT[4:]]))
    assert finding.status == "warn"
    assert "the 7 in use are slower and left out: mlx5_3 200 Gb/s" in finding.observed
    other = hca("mlx5_9", port(rate=200.0), board_id="MT_0000000455")
    assert findings(view(hcas=[*EIGHT, other])) == []


def test_a_rail_that_is_left_out_because_of_the_default_route_is_named() -> None:
    rails = [roce(f"mlx5_{number}", f"10.2.{number}.5", netdev=f"eth{number}") for number in range(4)]
    node = view(hcas=rails, net=net(default="eth0", eth0="10.2.0.5/24"))
    assert value(node) == "=mlx5_1,mlx5_2,mlx5_3"
    [finding] = findings(node)
    assert (finding.status, finding.observed) == (
        "warn",
        "mlx5_0, of the same kind as the 3 in use, is left out because it has the default route",
    )
    [finding] = findings(view(hcas=rails[:2], net=net(default="eth0", eth0="10.2.0.5/24")))
    assert "the same kind as the one in use, is" in finding.observed
