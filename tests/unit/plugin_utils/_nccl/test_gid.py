# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rule D3: which GID NCCL would take, when the index is pinned, what is set for IPv6 and several addresses."""

from __future__ import annotations

import ipaddress
from typing import Any, Literal

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, Hca
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.gid_table import search
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import Library, NodeView, resolve
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, gids, hca, net, port, roce, view

OLD, MIDDLE, NEW = (2, 19, 3), (2, 23, 4), (2, 27, 3)
LINK = "fe80::1"


@pytest.mark.parametrize(
    ("table", "family", "network", "index"),
    [
        (gids(LINK, "10.0.0.5"), 4, None, 3),
        (gids(LINK, "10.0.0.5", start=4), 4, None, 7),
        (gids(LINK, "2001:db8::5"), 4, None, 0),
        (gids(LINK, "2001:db8::5"), 6, None, 3),
        (gids(LINK, "10.0.0.5", "192.168.1.5"), 4, None, 3),
        (gids(LINK, "10.0.0.5", "192.168.1.5"), 4, "192.168.1.0/24", 5),
        (gids(LINK, "169.254.3.5", "10.0.0.5"), 4, None, 3),
        (gids(LINK, "::ffff:10.0.0.5"), 4, None, 3),
        (gids(LINK, "fd00:1::5", "fd00:2::5"), 6, "fd00:2::/64", 5),
        ([], 4, None, 0),
    ],
)
def test_the_entry_that_nccl_takes(table: list[Gid], family: int, network: str | None, index: int) -> None:
    assert search(table, family, ipaddress.ip_network(network) if network else None).index == index


def test_an_unknown_address_is_read_from_the_gid() -> None:
    table = [Gid(0, "0000:0000:0000:0000:0000:ffff:0a00:0005", "RoCE v2", None, "eth2")]
    assert search([*gids(LINK), *[Gid(3, table[0].gid, "RoCE v2", None, "eth2")]], 4).index == 3


def decide(
    *hcas: Hca, version: tuple[int, ...] | None, library: Literal["nccl", "rccl"] = "nccl", **changes: Any
) -> tuple[dict[str, str], list[Finding]]:
    """The variables of D3 and what was found about GIDs."""
    node = view(hcas=hcas, library=Library(library, version), **changes)
    resolution = resolve([node], AUTO)
    values = {
        variable.name: variable.value for variable in resolution.nodes["node0"].variables if variable.rule == "D3"
    }
    return values, [finding for finding in resolution.findings if finding.check in ("gids", "environment")]


def rails(*tables: list[Gid]) -> list[Hca]:
    """One RoCE device for each table."""
    return [hca(f"mlx5_{number}", port(layer="Ethernet", gids=table)) for number, table in enumerate(tables)]


PLAIN = gids(LINK, "10.0.0.5")
POD = gids(LINK, "10.0.0.5", start=4)
HOLE = [gid for gid in gids(LINK, "10.0.0.4", "10.0.0.5") if gid.index not in (2, 3)]
BLIND = [Gid(1, "", None, LINK, "eth2") if gid.index == 1 else gid for gid in PLAIN]


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW, None])
def test_infiniband_needs_nothing(version: tuple[int, ...] | None) -> None:
    assert decide(hca("mlx5_0"), version=version) == ({}, [])


@pytest.mark.parametrize(
    ("table", "version", "pinned"),
    [
        (PLAIN, OLD, "3"),
        (PLAIN, (2, 20, 5), "3"),
        (PLAIN, (2, 21, 5), None),
        (PLAIN, MIDDLE, None),
        (PLAIN, NEW, None),
        (POD, OLD, "7"),
        (POD, (2, 21, 5), "7"),
        (POD, MIDDLE, "7"),
        (POD, (2, 25, 1), "7"),
        (POD, (2, 26, 1), "7"),
        (POD, (2, 26, 2), None),
        (POD, NEW, None),
        (HOLE, MIDDLE, "5"),
        (BLIND, MIDDLE, "3"),
        (BLIND, NEW, None),
        (gids(LINK, "2001:db8::5"), OLD, "3"),
    ],
)
@pytest.mark.parametrize("library", ["nccl", "rccl"])
def test_the_index_is_pinned_where_the_library_cannot_find_it(
    table: list[Gid], version: tuple[int, ...], pinned: str | None, library: Literal["nccl", "rccl"]
) -> None:
    values, findings = decide(*rails(table, table), version=version, library=library, container=True)
    assert values == ({"NCCL_IB_GID_INDEX": pinned} if pinned else {})
    assert findings == []


@pytest.mark.parametrize(
    ("table", "version", "decided"),
    [
        # The types of unset entries, and of those of the link, are not read for IPv4.
        (POD, MIDDLE, {}),
        (HOLE, MIDDLE, {}),
        (BLIND, MIDDLE, {}),
        (POD, OLD, {"NCCL_IB_GID_INDEX": "7"}),
        # Of the two entries with one IPv4 address it reads both.
        ([*PLAIN[:2], Gid(2, "", None, "10.0.0.5", "eth2"), PLAIN[3]], MIDDLE, {"NCCL_IB_GID_INDEX": "3"}),
        # For IPv6, an unset entry 0 is of the family, and its type is read.
        (gids(LINK, "2001:db8::5"), MIDDLE, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
        (gids(LINK, "2001:db8::5", start=4), MIDDLE, {"NCCL_IB_GID_INDEX": "7"}),
    ],
)
def test_on_a_host_only_the_types_that_are_read_count(
    table: list[Gid], version: tuple[int, ...], decided: dict[str, str]
) -> None:
    assert decide(*rails(table, table), version=version, container=False) == (decided, [])


def decided(*nodes: NodeView) -> list[dict[str, str]]:
    """The variables of D3 on nodes of which nothing is found."""
    resolution = resolve(nodes, AUTO)
    assert resolution.findings == []
    return [
        {variable.name: variable.value for variable in node.variables if variable.rule == "D3"}
        for node in resolution.nodes.values()
    ]


def test_hosts_may_have_different_indexes() -> None:
    nodes = [view(name, rails(table), library=Library("nccl", OLD)) for name, table in (("a", PLAIN), ("b", POD))]
    assert decided(*nodes) == [{"NCCL_IB_GID_INDEX": "3"}, {"NCCL_IB_GID_INDEX": "7"}]


def test_ipv6_only() -> None:
    assert decide(*rails(gids(LINK, "2001:db8::5")), version=NEW) == ({"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, [])


OF_TWO_FAMILIES = [view("a", rails(PLAIN)), view("b", rails(gids(LINK, "2001:db8::5")))]


def test_nodes_of_two_families_do_not_meet() -> None:
    assert outcomes(resolve(OF_TWO_FAMILIES, AUTO).findings) == [("gids", "b", "fail")]


def several(address: str, other: str, first: bool) -> Hca:
    """A rail with an address of the fabric and another."""
    pair = (address, other) if first else (other, address)
    return roce("mlx5_0", *pair, netdev="eth2")


@pytest.mark.parametrize("first", [True, False])
def test_of_several_addresses_the_clusters_network_is_chosen_by_range(first: bool) -> None:
    """The order of the addresses differs between nodes; the networks are told by the routes."""
    networks = {"eth0": "10.9.0.1/16", "eth2": "10.2.0.5/24"}
    network = net(**networks)
    network.routes.append(type(network.routes[0])("192.168.1.0/24", "eth2", None, 0))
    other = net(**networks)
    node = view("b", [roce("mlx5_0", "10.2.0.6", netdev="eth2")], net=other)
    values = decided(view("a", [several("10.2.0.5", "192.168.1.5", first)], net=network), node)
    assert values == [{"NCCL_IB_ADDR_RANGE": "10.2.0.0/24"}, {}]


def test_of_several_ipv6_addresses_too() -> None:
    network = net(eth0="10.9.0.1/16")
    network.routes.extend(type(network.routes[0])(f"fd00:{number}::/64", "eth2", None, 256) for number in (1, 2))
    node = view("b", [roce("mlx5_0", "fd00:2::6", netdev="eth2")], net=network)
    assert decided(view("a", [several("fd00:2::5", "fd00:1::5", first=False)], net=network), node) == [
        {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "fd00:2::/64"},
        {"NCCL_IB_ADDR_FAMILY": "AF_INET6"},
    ]


def test_a_link_local_address_before_the_fabrics_is_passed_over_by_range() -> None:
    network = net(eth0="10.9.0.1/16", eth2="10.2.0.5/24")
    values, findings = decide(roce("mlx5_0", "169.254.3.5", "10.2.0.5", netdev="eth2"), version=NEW, net=network)
    assert (values, findings) == ({"NCCL_IB_ADDR_RANGE": "10.2.0.0/24"}, [])


def test_newer_versions_find_an_index_in_every_table() -> None:
    assert [decide(*rails([], []), version=version) for version in (MIDDLE, NEW, None)] == [({}, [])] * 3
    assert decide(*rails(PLAIN, POD), version=NEW) == ({}, [])


def test_a_users_index_is_the_answer() -> None:
    assert decide(*rails(PLAIN, POD), version=OLD, user_values={"NCCL_IB_GID_INDEX": "1"}) == ({}, [])


TWO = gids(LINK, "10.0.0.5", "192.168.1.5", start=4)
SIX = gids(LINK, "fd00::5")
BOTH = gids(LINK, "10.0.0.5", "fd00::5")


@pytest.mark.parametrize(
    ("table", "version", "user_values", "expected"),
    [
        (POD, MIDDLE, {"NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}, {"NCCL_IB_GID_INDEX": "7"}),
        (POD, MIDDLE, {"NCCL_IB_ADDR_FAMILY": "AF_INET"}, {"NCCL_IB_GID_INDEX": "7"}),
        (POD, MIDDLE, {"NCCL_IB_ADDR_RANGE": "junk"}, {"NCCL_IB_GID_INDEX": "7"}),
        (TWO, MIDDLE, {"NCCL_IB_ADDR_RANGE": "192.168.1.0/24"}, {"NCCL_IB_GID_INDEX": "9"}),
        (TWO, NEW, {"NCCL_IB_ADDR_RANGE": "192.168.1.0/24"}, {}),
        (SIX, NEW, {"NCCL_IB_ADDR_RANGE": "fd00::/8"}, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
        (BOTH, NEW, {"NCCL_IB_ADDR_RANGE": "fd00::/8"}, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
        (SIX, NEW, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, {}),
        (BOTH, OLD, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, {"NCCL_IB_GID_INDEX": "5"}),
        (BOTH, OLD, {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "1.0.0.0/8"}, {"NCCL_IB_GID_INDEX": "5"}),
    ],
)
def test_a_users_family_and_range_lead_to_the_index(
    table: list[Gid], version: tuple[int, ...], user_values: dict[str, str], expected: dict[str, str]
) -> None:
    assert decide(*rails(table), version=version, user_values=user_values, container=True) == (expected, [])


USERS = (("RANGE", "172.16.0.0/12"), ("FAMILY", "AF_INET6"), ("RANGE", "fd00::/8"))
# An unknown version is taken for the newest.
FOUND: dict[str, tuple[list[Hca], dict[str, Any], tuple[str, str]]] = {
    "two indexes in an old NCCL": (rails(PLAIN, POD), {"version": OLD, "container": True}, ("gids", "fail")),
    "two indexes in a newer NCCL": (rails(PLAIN, POD), {"version": MIDDLE, "container": True}, ("gids", "fail")),
    "an unknown version": (rails(POD), {"version": None}, ("environment", "warn")),
    "an unknown version, and two indexes": (rails(PLAIN, POD), {"version": None}, ("environment", "warn")),
    "no common family": (rails(PLAIN, gids(LINK, "2001:db8::5")), {"version": NEW}, ("gids", "fail")),
    "an unknown network": ([roce("mlx5_0", "10.2.0.5", "192.168.1.5")], {"version": NEW}, ("gids", "warn")),
    "a link-local address first": ([roce("mlx5_0", "169.254.3.5", "10.2.0.5")], {"version": NEW}, ("gids", "fail")),
    "empty tables": (rails([], []), {"version": OLD}, ("gids", "fail")),
    **{
        f"a user's {name} of {value} in {'.'.join(map(str, version))}": (
            rails(PLAIN),
            {"version": version, "user_values": {f"NCCL_IB_ADDR_{name}": value}},
            ("gids", "warn"),
        )
        for version in (OLD, NEW)
        for name, value in USERS
    },
}


@pytest.mark.parametrize(("hcas", "node", "outcome"), FOUND.values(), ids=FOUND)
def test_what_is_found_of_gids(hcas: list[Hca], node: dict[str, Any], outcome: tuple[str, str]) -> None:
    values, findings = decide(*hcas, **node)
    check, status = outcome
    assert (values, outcomes(findings)) == ({}, [(check, "node0", status)])
