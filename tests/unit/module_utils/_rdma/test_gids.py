# SPDX-License-Identifier: GPL-3.0-or-later
"""GID tables: which entries are set, and which one a port should send from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.gids import (
    gid_record,
    is_link_local,
    parse_gid,
    raw_of,
    read_gids,
)
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, choose_gid
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.rdma_trees import Tree

V1, V2 = "IB/RoCE v1", "RoCE v2"
LL = "fe80:0000:0000:0000:a288:c2ff:fe5b:03ec"
IPV4 = "0000:0000:0000:0000:0000:ffff:0b00:0048"
IPV6 = "2001:0db8:0000:0000:0000:0000:0000:0048"


def gid(index: int, text: str, kind: str | None) -> Gid:
    raw = parse_gid(text)
    assert raw is not None
    return gid_record(index, raw, kind, "rail0")


@pytest.mark.parametrize(
    "text",
    [
        "0000:0000:0000:0000:0000:0000:0000:0000",
        "fe80:0000:0000:0000:0000:0000:0000:0000",
        "::",
        "",
        "unknown",
        "fe80:0000",
        "\u0663::1",
        "fe80\0::1",
        "x" * 5000,
    ],
)
def test_what_is_not_set(text: str) -> None:
    assert parse_gid(text) is None


@pytest.mark.parametrize(
    ("text", "full", "address"),
    [
        (IPV4, IPV4, "11.0.0.72"),
        ("::ffff:11.0.0.72\n", IPV4, "11.0.0.72"),
        ("fe80::a288:c2ff:fe5b:3ec", LL, "fe80::a288:c2ff:fe5b:3ec"),
        (IPV6, IPV6, "2001:db8::48"),
    ],
)
def test_a_gid_and_its_address(text: str, full: str, address: str) -> None:
    record = gid(3, text, V2)
    assert record == Gid(index=3, gid=full, type=V2, address=address, ndev="rail0")
    assert raw_of(record) == parse_gid(full)
    assert is_link_local(record) is full.startswith("fe80")


@pytest.mark.parametrize(
    ("table", "index"),
    [
        ([], None),
        ([(0, LL, V1), (1, LL, V2), (2, IPV4, V1), (3, IPV4, V2)], 3),
        ([(4, LL, V1), (5, LL, V2), (6, IPV4, V1), (7, IPV4, V2)], 7),
        # The first of two addresses.
        ([(0, LL, V1), (1, LL, V2), (2, IPV4, V1), (3, IPV4, V2), (4, IPV4, V1), (5, IPV4, V2)], 3),
        # IPv6 alone.
        ([(0, LL, V1), (1, LL, V2), (2, IPV6, V1), (3, IPV6, V2)], 3),
        ([(0, LL, V1), (1, LL, V2)], None),
        ([(0, IPV4, V2), (1, IPV4, V1), (2, IPV4, V2)], 0),
        ([(0, IPV4, V1), (1, IPV6, V2), (2, IPV4, V2)], 2),
        # Not v2: what NCCL takes does not cross a router.
        ([(0, LL, V1), (1, IPV4, V1)], None),
        # The type of the first cannot be read (EINVAL).
        ([(2, IPV4, None), (3, IPV4, V2)], 3),
        ([(2, IPV4, None)], None),
        # 169.254.0.0/16 only where there is nothing else of IPv4.
        ([(1, "::ffff:169.254.3.4", V2), (3, IPV4, V2)], 3),
        ([(1, "::ffff:169.254.3.4", V2), (3, IPV6, V2)], 1),
        ([(200, IPV4, V2)], 200),
    ],
)
def test_the_entry_a_port_should_send_from(table: list[tuple[int, str, str | None]], index: int | None) -> None:
    chosen = choose_gid([gid(*entry) for entry in table], "rail0")
    assert (chosen and chosen.index) == index


def test_the_ports_own_device_and_the_network_of_most_ports_come_first() -> None:
    vlan = Gid(1, "", V2, "10.1.0.5", "rail0.7")
    near, far = Gid(3, "", V2, "10.2.0.5", "rail0"), Gid(5, "", V2, "10.3.0.5", "rail0")
    assert choose_gid([vlan, near, far], "rail0") == near
    assert choose_gid([vlan, near, far], None) == vlan
    assert choose_gid([vlan, near, far], "rail0", {vlan: 9, near: 1, far: 2}.__getitem__) == far


def test_only_what_is_set_is_asked_for_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree()
    # Addresses were removed: the last entry comes after a gap.
    tree.gids("mlx5_0", "1", {4: (LL, V1, "net1"), 5: (IPV4, V2, "net1"), 255: (IPV4, V2, "vlan7")}, size=255)
    tree.manifest["errors"].update(dict.fromkeys([f"{tree.device('mlx5_0')}/ports/1/gid_attrs/ndevs/4"], "EINVAL"))
    del tree.manifest["files"][f"{tree.device('mlx5_0')}/ports/1/gid_attrs/ndevs/4"]
    machine = Machine(tree.manifest, tmp_path)
    asked: dict[str, list[str]] = {}
    read_folder = Machine.read_folder

    def watch(self: Machine, path: str, names: Iterable[str]) -> dict[str, bytes]:
        asked[path.rpartition("/")[2]] = list(names)
        return read_folder(self, path, asked[path.rpartition("/")[2]])

    monkeypatch.setattr(Machine, "read_folder", watch)
    gids = read_gids(machine, "/sys/class/infiniband/mlx5_0/ports/1")
    assert gids is not None
    assert [(entry.index, entry.type, entry.ndev) for entry in gids] == [
        (4, V1, None),
        (5, V2, "net1"),
        (255, V2, "vlan7"),
    ]
    assert len(asked["gids"]) == 256
    assert sorted(asked["types"]) == sorted(asked["ndevs"]) == ["255", "4", "5"]


def test_no_table_is_not_an_empty_one(tmp_path: Path) -> None:
    machine = Machine({"directories": ["/port/gids"], "files": {"/other/gids/x": "", "/other/gids/1": "!"}}, tmp_path)
    assert read_gids(machine, "/port") == []
    assert read_gids(machine, "/other") == []
    assert read_gids(machine, "/nothing") is None
