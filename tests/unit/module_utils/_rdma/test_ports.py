# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of RDMA devices from sysfs: their GIDs, interfaces and rates, and which of them NCCL could use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.port import parse_rate, parse_signaling, roce_mtu
from ansible_collections.muster.train.tests.support.rdma_ports import (
    IPV4,
    LL,
    ROCE,
    V1,
    V2,
    infiniband,
    only_port,
    read,
    roce,
)
from ansible_collections.muster.train.tests.support.rdma_trees import Tree

IPV6 = "2001:0db8:0000:0000:0000:0000:0000:0005"
LINK_LOCAL = {0: (LL, V1, "rail0"), 1: (LL, V2, "rail0")}


def of_type(node_type: str, vendor: str = "0x15b3", table: Any = None) -> Tree:
    """A RoCE port of a device of that type and vendor."""
    tree = roce(table)
    tree.write("mlx5_0", "node_type", node_type)
    tree.beside("mlx5_0", "vendor", vendor)
    return tree


def without(tree: Tree, path: str, error: str = "ENOENT") -> Tree:
    """The same, but what begins so in the folder of the port cannot be read."""
    files = tree.manifest["files"]
    for file in [file for file in files if file.startswith(f"{tree.device('mlx5_0')}/ports/1/{path}")]:
        del files[file]
        tree.manifest["errors"].update({} if error == "ENOENT" else {file: error})
    return tree


def beside(interface: str) -> Tree:
    """A RoCE port of whose GIDs' interface only another one may be here."""
    tree = roce()
    tree.manifest["files"][f"/sys/class/net/{interface}/mtu"] = "1500\n"
    return tree


UNUSABLE = {
    "a port that is down": infiniband(state="DOWN", phys_state="Polling"),
    "a port that is not set up": infiniband(state="INIT"),
    "an unknown state": infiniband(state=""),
    "an unknown link layer": infiniband(link_layer="Unknown"),
    "no subnet manager": infiniband(sm_lid="0"),
    "an empty GID table": roce({}),
    "only link-local GIDs": roce(LINK_LOCAL),
    # The kernel says what kind an entry that is set is of, or EINVAL for all: then nothing is known to work.
    "GIDs without a type": roce({0: (LL, None, None)}),
    "an address without a type": roce({0: (LL, V2, "rail0"), 2: (IPV6, None, "rail0")}),
    "only RoCE v1": roce({0: (LL, V1, "rail0"), 2: (IPV6, V1, "rail0")}),
    "no link layer": without(roce(), "link_layer"),
    "a phantom VF whose GIDs cannot be read": without(roce({}), "gids/", "EINVAL"),
    "GIDs of another network namespace": beside("eth0"),
    "iWARP": of_type("4: RNIC", table={0: ("0012:3456:789a:0000:0000:0000:0000:0001", V1, "rail0")}),
    "EFA": of_type("7: unspecified", "0x1d0f"),
    "EFA as a CA": of_type("1: CA", "0x1d0f"),
    "a type that is not specified": of_type("7: unspecified"),
    "usNIC": of_type("5: usNIC", "0x1137"),
    "a switch": of_type("2: switch"),
}


def test_infiniband(tmp_path: Path) -> None:
    tree = infiniband(rate="400 Gb/sec (4X NDR)")
    # An unset entry of InfiniBand; IPoIB says nothing of the port.
    tree.gids("mlx5_0", "1", {0: (LL, "IB/RoCE v1", None), 1: ("fe80" + ":0000" * 7, None, None)})
    tree.netdev("mlx5_0", "ib0")
    tree.netdev("mlx5_0", "ib0.8001")
    tree.manifest["files"]["/sys/class/net/ib0/mtu"] = "2044\n"
    port = only_port(tree, tmp_path)
    assert (port.lid, port.sm_lid, port.netdev, port.mtu) == (298, 1, "ib0", None)
    assert [gid.index for gid in port.gids] == [0]
    assert port.rocev2_gid_index is None
    assert port.usable


@pytest.mark.parametrize("tree", UNUSABLE.values(), ids=UNUSABLE)
def test_a_port_that_is_not_usable_has_one_reason(tree: Tree, tmp_path: Path) -> None:
    port = only_port(tree, tmp_path)
    assert (port.usable, len(port.reasons)) == (False, 1)


@pytest.mark.parametrize(
    ("table", "index"),
    [
        ({4 + place: entry for place, entry in ROCE.items()}, 7),
        ({**LINK_LOCAL, 2: (IPV6, V1, "rail0"), 3: (IPV6, V2, "rail0")}, 3),
        ({0: (LL, None, "rail0"), 3: (IPV6, V2, "rail0")}, 3),
        (LINK_LOCAL, None),
    ],
)
def test_the_gid_table_of_a_roce_port(table: Any, index: int | None, tmp_path: Path) -> None:
    port = only_port(roce(table), tmp_path)
    assert (port.rocev2_gid_index, port.usable) == (index, index is not None)


def test_a_table_tells_roce_where_the_link_layer_cannot_be_read(tmp_path: Path) -> None:
    port = only_port(UNUSABLE["no link layer"], tmp_path)
    assert (port.link_layer, port.rocev2_gid_index) == (None, 3)


def test_gids_of_this_network_namespace(tmp_path: Path) -> None:
    port = only_port(beside("rail0"), tmp_path)
    assert (port.usable, port.netdev, port.mtu) == (True, "rail0", 1024)


def test_roce_by_a_device_of_iwarp(tmp_path: Path) -> None:
    assert only_port(of_type("4: RNIC"), tmp_path).usable


@pytest.mark.parametrize("attribute", ["dev_port", "dev_id"])
def test_the_interfaces_of_two_ports(attribute: str, tmp_path: Path) -> None:
    tree = Tree()
    for number, name in (("1", "ib0"), ("2", "ib1")):
        tree.port("mlx4_0", number, state="ACTIVE", link_layer="InfiniBand")
        tree.netdev("mlx4_0", name)
        tree.beside("mlx4_0", f"net/{name}/{attribute}", str(int(number) - 1))
    rdma, _warnings = read(tree.manifest, tmp_path)
    assert [port.netdev for port in rdma.hcas[0].ports] == ["ib0", "ib1"]
    assert rdma.hcas[0].netdevs == ["ib0", "ib1"]


def test_a_bond(tmp_path: Path) -> None:
    tree = roce({0: (LL, V1, "bond0"), 1: (IPV4, V2, "bond0")}, "mlx5_bond_0")
    tree.netdev("mlx5_bond_0", "ens1f0np0")
    rdma, _warnings = read(tree.manifest, tmp_path)
    assert rdma.hcas[0].netdevs == ["bond0", "ens1f0np0"]
    assert rdma.hcas[0].ports[0].netdev == "bond0"


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("400 Gb/sec (4X NDR)", 400.0),
        ("2.5 Gb/sec (1X SDR)", 2.5),
        ("200 Gb/sec", 200.0),
        ("-1 Gb/sec", None),
        ("fast", None),
        ("9" * 400 + " Gb/sec", None),
        (None, None),
    ],
)
def test_rates(text: str | None, rate: float | None) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "signaling"),
    [
        ("400 Gb/sec (4X NDR)", "4X NDR"),
        ("100 Gb/sec (2X HDR)", "2X HDR"),
        ("40 Gb/sec (4X)", "4X"),
        ("200 Gb/sec", None),
        ("400 Gb/sec (4X NDR", None),
        (None, None),
    ],
)
def test_lanes_and_their_speed(text: str | None, signaling: str | None) -> None:
    assert parse_signaling(text) == signaling


@pytest.mark.parametrize(
    ("interface", "mtu"), [(9000, 4096), (4200, 4096), (4191, 2048), (1500, 1024), (351, None), (0, None), (None, None)]
)
def test_the_mtu_of_roce(interface: int | None, mtu: int | None) -> None:
    assert roce_mtu(interface) == mtu
