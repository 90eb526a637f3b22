# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of RDMA devices from sysfs: their GIDs, interfaces and rates, and which of them NCCL could use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.port import parse_rate, roce_mtu
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

NO_TYPES = "the types of its GIDs cannot be read, so no RoCE v2 GID is known"
IPV6 = "2001:0db8:0000:0000:0000:0000:0000:0005"


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


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"state": "DOWN", "phys_state": "Polling"}, "state is DOWN (Polling), not ACTIVE"),
        ({"state": "INIT"}, "state is INIT (LinkUp), not ACTIVE: no subnet manager has set it up"),
        ({"state": ""}, "its state cannot be read"),
        ({"link_layer": "Unknown"}, "link layer is Unknown, neither InfiniBand nor Ethernet"),
        ({"sm_lid": "0"}, "sm_lid is 0: there is no subnet manager"),
    ],
)
def test_why_an_infiniband_port_is_not_usable(values: dict[str, str], reason: str, tmp_path: Path) -> None:
    assert only_port(infiniband(**values), tmp_path).reasons == [reason]


@pytest.mark.parametrize(
    ("table", "index", "reasons"),
    [
        ({4 + place: entry for place, entry in ROCE.items()}, 7, []),
        ({0: (LL, V1, "rail0"), 1: (LL, V2, "rail0"), 2: (IPV6, V1, "rail0"), 3: (IPV6, V2, "rail0")}, 3, []),
        ({}, None, ["its GID table is empty, because none of its interfaces has an address here"]),
        (
            {0: (LL, V1, "rail0"), 1: (LL, V2, "rail0")},
            None,
            ["it has only link-local GIDs: rail0 has no address"],
        ),
        # The kernel says what kind an entry that is set is of, or EINVAL for all: then nothing is known to work.
        ({0: (LL, None, None)}, None, [NO_TYPES]),
        ({0: (LL, V2, "rail0"), 2: (IPV6, None, "rail0")}, None, [NO_TYPES]),
        ({0: (LL, V1, "rail0"), 2: (IPV6, V1, "rail0")}, None, ["it has no RoCE v2 GID"]),
        ({0: (LL, None, "rail0"), 3: (IPV6, V2, "rail0")}, 3, []),
    ],
)
def test_the_gid_table_of_a_roce_port(table: Any, index: int | None, reasons: list[str], tmp_path: Path) -> None:
    port = only_port(roce(table), tmp_path)
    assert (port.rocev2_gid_index, port.reasons) == (index, reasons)


def test_a_table_tells_roce_where_the_link_layer_cannot_be_read(tmp_path: Path) -> None:
    tree = roce()
    del tree.manifest["files"][f"{tree.device('mlx5_0')}/ports/1/link_layer"]
    port = only_port(tree, tmp_path)
    assert (port.link_layer, port.rocev2_gid_index) == (None, 3)
    assert port.reasons == ["its link layer cannot be read"]


def test_a_phantom_vf_whose_gids_cannot_be_read(tmp_path: Path) -> None:
    tree = roce({})
    folder = f"{tree.device('mlx5_0')}/ports/1/gids"
    for path in [path for path in tree.manifest["files"] if path.startswith(folder)]:
        del tree.manifest["files"][path]
        tree.manifest["errors"][path] = "EINVAL"
    assert only_port(tree, tmp_path).reasons == [
        "its GID table is empty, because none of its interfaces has an address here"
    ]


def test_gids_of_another_network_namespace(tmp_path: Path) -> None:
    tree = roce()
    tree.manifest["files"]["/sys/class/net/eth0/mtu"] = "1500\n"
    reasons = ["its GIDs belong to rail0, not an interface of this network namespace"]
    assert only_port(tree, tmp_path / "pod").reasons == reasons
    tree.manifest["files"]["/sys/class/net/rail0/mtu"] = "1500\n"
    port = only_port(tree, tmp_path / "host")
    assert (port.usable, port.netdev, port.mtu) == (True, "rail0", 1024)


def test_iwarp(tmp_path: Path) -> None:
    tree = roce({0: ("0012:3456:789a:0000:0000:0000:0000:0001", "IB/RoCE v1", "rail0")})
    tree.write("mlx5_0", "node_type", "4: RNIC")
    assert only_port(tree, tmp_path).reasons == ["it has no RoCE v2 GID: iWARP, which NCCL does not support"]
    tree = roce()
    tree.write("mlx5_0", "node_type", "4: RNIC")
    assert only_port(tree, tmp_path / "roce").usable


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
    ("interface", "mtu"), [(9000, 4096), (4200, 4096), (4191, 2048), (1500, 1024), (351, None), (0, None), (None, None)]
)
def test_the_mtu_of_roce(interface: int | None, mtu: int | None) -> None:
    assert roce_mtu(interface) == mtu
