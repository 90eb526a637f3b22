# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D2: which HCAs are chosen, when NCCL_IB_HCA is written, and what is said of the others."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca, Port
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import NodeView, resolve
from ansible_collections.muster.train.tests.support.cases import outcomes
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


ONE_FOR_ALL = [roce("mlx5_0", "10.9.0.1", netdev="eth0")]
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
        (ONE_FOR_ALL, None),
    ],
    ids=str,
)
def test_the_fastest_group_of_one_link_layer(hcas: list[Hca], expected: str | None) -> None:
    assert value(view(hcas=hcas)) == expected


CLOSED = [
    hca(f"mlx5_{number}", port(usable=False, reasons=[f"/dev/infiniband/uverbs{number} is missing", "not granted"]))
    for number in (9, 10)
]
# What NCCL takes anyway is not written.
REASONS = {
    "all": (view(hcas=EIGHT), None),
    "without the default route": (view(hcas=[*EIGHT, BOND]), ALL_OF),
    "without the default route and broken ones": (view(hcas=[*EIGHT, BOND, PHANTOM, *CLOSED]), ALL_OF),
}


@pytest.mark.parametrize(("node", "expected"), REASONS.values(), ids=REASONS)
def test_what_is_decided_of_devices_has_its_rule(node: NodeView, expected: str | None) -> None:
    environment = resolve([node], AUTO).nodes["node0"]
    rules = {item.name: item.rule for item in (environment.variables if expected else environment.not_set)}
    assert (value(node), rules["NCCL_IB_HCA"]) == (expected, "D2")
    assert environment.hcas == [f"mlx5_{number}" for number in range(8)]


@pytest.mark.parametrize("interface", ["eth0", "eth0.120"])
def test_the_default_routes_port_is_left_out_even_at_the_same_rate(interface: str) -> None:
    rails = [roce(f"mlx5_{number}", f"10.2.0.{number}", netdev=f"eth{number + 1}") for number in range(2)]
    default_route = roce("mlx5_9", "10.9.0.1", netdev="eth0")
    assert value(view(hcas=[*rails, default_route], net=net(default=interface))) == "=mlx5_0,mlx5_1"


def test_a_bonds_default_route_is_known_by_its_gids() -> None:
    table = gids("fe80::1", "10.9.0.1", ndev="bond0")
    bond = hca("mlx5_bond_0", port(layer="Ethernet", netdev="eth4", gids=table), netdevs=["eth4", "eth5"])
    rails = [roce("mlx5_0", "10.2.0.1", netdev="eth1")]
    assert value(view(hcas=[*rails, bond], net=net(default="bond0"))) == "=mlx5_0"


@pytest.mark.parametrize("rate", [25.0, 400.0])
def test_the_port_with_the_default_route_is_left_out_however_fast_it_is(rate: float) -> None:
    default_route = roce("mlx5_0", "10.9.0.1", netdev="eth0", rate=800.0)
    rails = [roce(f"bnxt_re{number}", f"10.1.{number}.1", rate=rate, netdev=f"eth{number + 5}") for number in range(2)]
    node = view(hcas=[default_route, *rails])
    assert value(node) == "=bnxt_re0,bnxt_re1"
    assert findings(node) == []
    assert value(view(hcas=[default_route, hca("mlx5_1", port(rate=100.0))])) == "=mlx5_1"


SLOW = [*(hca(f"mlx5_{number}", port(rate=100.0)) for number in range(2)), roce("mlx5_9", "10.2.0.1", netdev="eth3")]


def test_infiniband_that_is_slower_than_ethernet_is_a_question_that_users_answer() -> None:
    answered = view(hcas=SLOW, user_values={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"})
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


def of_another_board(name: str, port: Port) -> Hca:
    return hca(name, port, board_id="MT_0000000455")


@pytest.mark.parametrize(
    "hcas",
    [
        [of_another_board("mlx5_0", port(**NO_SM)), *EIGHT[1:]],
        [*EIGHT[:5], of_another_board("mlx5_5", down())],
        [*EIGHT, of_another_board("mlx5_9", port(rate=200.0))],
    ],
    ids=["no subnet manager", "down", "slow"],
)
def test_other_cards_are_not_named(hcas: list[Hca]) -> None:
    assert findings(view(hcas=hcas)) == []


@pytest.mark.parametrize("name", ["a,b", "x:1"])
def test_names_that_the_list_cannot_hold_are_never_written(name: str) -> None:
    odd = hca(name)
    assert value(view(hcas=[hca("mlx5_0"), odd])) is None
    assert findings(view(hcas=[hca("mlx5_0"), odd])) == []
    assert value(view(hcas=[hca("mlx5_0"), odd, BOND])) == "=mlx5_0"
    assert value(view(hcas=[odd, BOND])) is None


def test_infiniband_with_the_default_route_is_the_fabric_itself() -> None:
    """IPoIB on one of the rails, as on nodes without any other network."""
    rails = [hca(f"mlx5_{number}", port(netdev=f"ib{number}")) for number in range(4)]
    node = view(hcas=rails, net=net(default="ib0", ib0="10.9.0.1/16"))
    assert value(node) is None
    assert findings(node) == []
    assert len(resolve([node], AUTO).nodes["node0"].hcas) == 4


RAILS = [roce(f"mlx5_{number}", f"10.2.{number}.5", netdev=f"eth{number}") for number in range(4)]
OVER_A_RAIL = net(default="eth0", eth0="10.2.0.5/24")


def test_a_rail_is_left_out_because_of_the_default_route() -> None:
    assert value(view(hcas=RAILS, net=OVER_A_RAIL)) == "=mlx5_1,mlx5_2,mlx5_3"


def among(odd: list[Hca], **chosen: str) -> list[NodeView]:
    """Three nodes, the second of which has these devices, and perhaps a list of its user's."""
    return [view("a", EIGHT), view("b", odd, user_values=chosen), view("c", EIGHT)]


LOST = [hca("mlx5_5", down()), hca("mlx5_11", down(phys_state="Polling")), hca("mlx5_1", down(), hca_type="MT4125")]
# The two functions of a cabled port, one of which lost its address, or never had one.
BARE: dict[str, Any] = {"usable": False, "reasons": ["it has only link-local GIDs: enP2 has no address"]}
TWIN = hca("roceP2", port(layer="Ethernet", netdev="enP2", gids=gids("fe80::9", ndev="enP2"), **BARE))
SPARK = roce("rocep1", "192.168.100.1", netdev="enp1")
FOUND: dict[str, tuple[list[NodeView], str]] = {
    "no subnet manager": ([view(hcas=[hca("mlx5_0", port(**NO_SM)), *EIGHT[1:7], hca("mlx5_7", down())])], "warn"),
    "one NIC for everything": ([view(hcas=ONE_FOR_ALL)], "warn"),
    "InfiniBand that is slower than Ethernet": ([view(hcas=SLOW)], "fail"),
    "lost links": ([view(hcas=[*EIGHT[:5], *LOST])], "warn"),
    "lost lanes": ([view(hcas=[hca("mlx5_3", port(rate=200.0)), *EIGHT[:3], *EIGHT[4:]])], "warn"),
    "fewer ports than others": (among(EIGHT[:7]), "fail"),
    "slower ports than others": (among([hca(f"mlx5_{number}", port(rate=200.0)) for number in range(8)]), "fail"),
    "another layer than others": (among([roce(f"mlx5_{number}", f"10.2.0.{number}") for number in range(8)]), "fail"),
    "fewer ports by a user's choice": (among(EIGHT, NCCL_IB_HCA="mlx5_0"), "warn"),
    "another layer by a user's choice": (among([*EIGHT, BOND], NCCL_IB_HCA="=mlx5_bond_0"), "fail"),
    "a name with a comma": ([view(hcas=[hca("mlx5_0"), hca("a,b"), BOND])], "warn"),
    "a name with a colon": ([view(hcas=[hca("mlx5_0"), hca("x:1"), BOND])], "warn"),
    "no name but one with a comma": ([view(hcas=[hca("a,b"), BOND])], "warn"),
    "no name but one with a colon": ([view(hcas=[hca("x:1"), BOND])], "warn"),
    "a rail with the default route": ([view(hcas=RAILS, net=OVER_A_RAIL)], "warn"),
    "a twin without an address": ([view(hcas=[SPARK, TWIN])], "warn"),
    "a rail without an address": (
        [
            view(
                hcas=[
                    *RAILS[1:3],
                    dataclasses.replace(
                        TWIN, ports=[port(layer="Ethernet", netdev="eth3", gids=TWIN.ports[0].gids, **BARE)]
                    ),
                ]
            )
        ],
        "warn",
    ),
    "one of two rails with the default route": ([view(hcas=RAILS[:2], net=OVER_A_RAIL)], "warn"),
}


@pytest.mark.parametrize(("nodes", "status"), FOUND.values(), ids=FOUND)
def test_what_is_found_of_devices(nodes: list[NodeView], status: str) -> None:
    assert outcomes(findings(*nodes)) == [("rdma ports", "b" if len(nodes) > 1 else "node0", status)]


LOOK_ALIKES: dict[str, list[Hca]] = {
    "both functions have addresses": [SPARK, roce("roceP2", "192.168.101.1", netdev="enP2")],
    "a member of a bond, which has the address": [
        SPARK,
        hca("roceP2", port(layer="Ethernet", netdev="enP2", gids=gids("192.168.101.1", ndev="bond0"))),
    ],
    "a card of another board": [SPARK, dataclasses.replace(TWIN, board_id="MT_0000000001")],
    "a slower one": [
        SPARK,
        hca("roceP2", port(layer="Ethernet", rate=100.0, netdev="enP2", gids=TWIN.ports[0].gids, **BARE)),
    ],
    "no device node": [SPARK, dataclasses.replace(TWIN, uverbs=None)],
    "InfiniBand needs no address": [hca("mlx5_0"), hca("mlx5_1")],
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_ports_whose_address_is_not_missed(name: str) -> None:
    assert [item for item in findings(view(hcas=LOOK_ALIKES[name])) if "no address" in item.observed] == []
