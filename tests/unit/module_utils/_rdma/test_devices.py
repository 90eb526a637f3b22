# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices from sysfs: what each kind of machine looks like, and which ports NCCL could use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._rdma.port import parse_rate, roce_mtu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Port, Rdma
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.rdma_trees import CLASS, Tree
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

V1, V2 = "IB/RoCE v1", "RoCE v2"
NO_TYPES = "the types of its GIDs cannot be read, so no RoCE v2 GID is known"
LL = "fe80:0000:0000:0000:a288:c2ff:fe5b:03ec"
IPV4 = "0000:0000:0000:0000:0000:ffff:0a00:0005"
IPV6 = "2001:0db8:0000:0000:0000:0000:0000:0005"
ROCE = {0: (LL, V1, "rail0"), 1: (LL, V2, "rail0"), 2: (IPV4, V1, "rail0"), 3: (IPV4, V2, "rail0")}


def read(manifest: dict[str, Any], root: Path) -> tuple[Rdma, list[str]]:
    warnings: list[str] = []
    rdma = read_rdma(Machine(manifest, root), warnings.append)
    assert Rdma.from_dict(rdma.to_dict()) == rdma
    return rdma, warnings


def only_port(tree: Tree, root: Path) -> Port:
    """Return the only port of the only device."""
    rdma, warnings = read(tree.manifest, root)
    assert warnings == []
    ((port,),) = (hca.ports for hca in rdma.hcas)
    assert rdma.usable is port.usable is (port.reasons == [])
    return port


def roce(table: Any = None, name: str = "mlx5_0", state: str = "ACTIVE") -> Tree:
    """Return a machine with one RoCE port that is up."""
    tree = Tree()
    tree.port(name, "1", state=state, phys_state="LinkUp", link_layer="Ethernet", rate="400 Gb/sec (4X NDR)")
    tree.gids(name, "1", ROCE if table is None else table)
    return tree


def infiniband(**values: str) -> Tree:
    """Return a machine with one InfiniBand port that is up."""
    tree = Tree()
    wanted = {"state": "ACTIVE", "phys_state": "LinkUp", "link_layer": "InfiniBand", "lid": "298", "sm_lid": "1"}
    tree.port("mlx5_0", "1", **{**wanted, **values})
    return tree


def test_every_fact_of_a_device(tmp_path: Path) -> None:
    tree = roce()
    pci = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    for name, value in {
        "node_type": "1: CA",
        "hca_type": "MT4129",
        "board_id": "MT_0000000838",
        "fw_ver": "28.39.1002",
        "node_guid": "a088:c203:00e3:142a",
        "ports/1/lid": "0x0",
        "ports/1/sm_lid": "0x0",
        "ports/1/counters/link_downed": "3",
        "ports/1/counters/symbol_error": "N/A (no PMA)",
        "ports/1/counters/port_rcv_data": "345091702026",
        "ports/1/hw_counters/out_of_sequence": "7",
        "ports/1/hw_counters/roce_slow_restart": "2",
    }.items():
        tree.write("mlx5_0", name, value)
    for name, value in {
        "vendor": "0x15b3",
        "numa_node": "0",
        "current_link_width": "8",
        "max_link_width": "16",
        "current_link_speed": "16.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "net/rail0/dev_port": "0",
        "infiniband_verbs/uverbs0/ibdev": "mlx5_0",
    }.items():
        tree.beside("mlx5_0", name, value)
    tree.manifest["links"].update(
        {
            f"{pci}/driver": "../../../../bus/pci/drivers/mlx5_core",
            f"{pci}/physfn": "../0000:01:00.1",
            "/sys/class/infiniband_verbs/uverbs0": f"../../..{pci}/infiniband_verbs/uverbs0",
            "/sys/class/net/rail0": f"../../..{pci}/net/rail0",
        }
    )
    tree.manifest["files"].update({f"{pci}/net/rail0/mtu": "4200\n", "/dev/infiniband/uverbs0": ""})
    tree.manifest["directories"] += ["/sys/module/nvidia_peermem"]
    tree.manifest["errors"][f"{tree.device('mlx5_0')}/ports/1/counters/port_rcv_errors"] = "EINVAL"
    rdma, warnings = read(tree.manifest, tmp_path)
    assert warnings == []
    gid = {"address": "fe80::a288:c2ff:fe5b:3ec", "gid": LL, "ndev": "rail0"}
    assert rdma.to_dict() == {
        "usable": True,
        "gdr": {"nvidia_peermem": True, "nv_peer_mem": False, "dmabuf": None, "amd_peer": False},
        "hcas": [
            {
                "name": "mlx5_0",
                "node_type": "CA",
                "vendor_id": "0x15b3",
                "driver": "mlx5_core",
                "hca_type": "MT4129",
                "board_id": "MT_0000000838",
                "fw_ver": "28.39.1002",
                "node_guid": "a088:c203:00e3:142a",
                "pci_address": "0000:01:00.0",
                "numa_node": 0,
                "physfn": "0000:01:00.1",
                "uverbs": "/dev/infiniband/uverbs0",
                "netdevs": ["rail0"],
                "ports": [
                    {
                        "port": 1,
                        "state": "ACTIVE",
                        "phys_state": "LinkUp",
                        "link_layer": "Ethernet",
                        "rate_gbps": 400.0,
                        "lid": 0,
                        "sm_lid": 0,
                        "netdev": "rail0",
                        "mtu": 4096,
                        "counters": {"link_downed": 3, "out_of_sequence": 7, "roce_slow_restart": 2},
                        "gids": [
                            {"index": 0, "type": V1, **gid},
                            {"index": 1, "type": V2, **gid},
                            {"index": 2, "type": V1, "address": "10.0.0.5", "gid": IPV4, "ndev": "rail0"},
                            {"index": 3, "type": V2, "address": "10.0.0.5", "gid": IPV4, "ndev": "rail0"},
                        ],
                        "rocev2_gid_index": 3,
                        "usable": True,
                        "reasons": [],
                    }
                ],
                "link_width": 8,
                "link_width_max": 16,
                "link_gen": 4,
                "link_gen_max": 5,
            }
        ],
    }


def test_a_manifest_with_no_more_than_the_class(tmp_path: Path) -> None:
    """A device of files, its link to the PCI device as readlink prints it, leading nowhere here."""
    files = {f"{CLASS}/mlx5_{number}/ports/1/state": "4: ACTIVE\n" for number in (10, 2)}
    files[f"{CLASS}/mlx5_2/ports/1/link_layer"] = "InfiniBand\n"
    files[f"{CLASS}/mlx5_2/node_type"] = "1: CA\n"
    files["/sys/bus/pci/devices/0000:0c:00.0/vendor"] = "0x15b3\n"
    files["/sys/bus/pci/devices/0000:0c:00.0/numa_node"] = "-1\n"
    links = {f"{CLASS}/mlx5_2/device": "../../../0000:0c:00.0"}
    rdma, warnings = read({"files": files, "links": links}, tmp_path)
    assert warnings == []
    first, second = rdma.hcas
    assert (first.name, first.node_type, first.pci_address) == ("mlx5_2", "CA", "0000:0c:00.0")
    assert (first.vendor_id, first.numa_node, first.uverbs) == ("0x15b3", None, None)
    assert first.ports[0].usable
    assert (second.name, second.pci_address, second.vendor_id) == ("mlx5_10", None, None)
    assert second.ports[0].reasons == ["its link layer cannot be read"]


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


@pytest.mark.parametrize(
    ("node_type", "vendor", "word"),
    [
        ("7: unspecified", "0x1d0f", "aws-ofi-nccl"),
        ("1: CA", "0x1d0f", "aws-ofi-nccl"),
        ("7: unspecified", "0x15b3", "aws-ofi-nccl"),
        ("5: usNIC", "0x1137", "usNIC"),
        ("2: switch", "0x15b3", "switch"),
    ],
)
def test_devices_that_are_not_for_nccl(node_type: str, vendor: str, word: str, tmp_path: Path) -> None:
    tree = roce()
    tree.write("mlx5_0", "node_type", node_type)
    tree.beside("mlx5_0", "vendor", vendor)
    (reason,) = only_port(tree, tmp_path).reasons
    assert word in reason


def test_devices_in_software(tmp_path: Path) -> None:
    tree = Tree()
    tree.device("siw0", on_pci=False)
    # As Linux before 5.x has it: on the PCI device of its interface.
    tree.write("rxe0", "parent", "eth0")
    for name in ("siw0", "rxe0"):
        tree.port(name, "1", state="ACTIVE", link_layer="Ethernet")
    tree.manifest["files"][f"{CLASS}/rxe1/ports/1/state"] = "4: ACTIVE"
    tree.manifest["files"][f"{CLASS}/rxe1/ports/1/link_layer"] = "Ethernet"
    tree.manifest["links"][f"{CLASS}/scif0"] = "../../devices/scif_dma_0/infiniband/scif0"
    rdma, warnings = read(tree.manifest, tmp_path)
    assert not rdma.usable
    assert warnings == [f"scif0: {CLASS}/scif0 is not a directory"]
    result = {hca.name: [port.reasons for port in hca.ports] for hca in rdma.hcas}
    software = ["it has no PCI device, because it is RDMA in software"]
    assert result == {"rxe0": [software], "rxe1": [software], "scif0": [], "siw0": [software]}
    assert {hca.name: hca.netdevs for hca in rdma.hcas}["rxe0"] == ["eth0"]
    assert [hca.pci_address for hca in rdma.hcas if hca.name in ("siw0", "scif0")] == [None, None]


def test_a_scalable_function(tmp_path: Path) -> None:
    """Its device is an auxiliary one, below the PCI device that has vendor and NUMA node."""
    pci = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    sf = f"{pci}/mlx5_core.sf.4"
    files = {f"{pci}/vendor": "0x15b3", f"{pci}/numa_node": "1", f"{sf}/net/sf0/mtu": "1500"}
    files[f"{sf}/infiniband/mlx5_7/ports/1/state"] = "4: ACTIVE"
    links = {
        f"{CLASS}/mlx5_7": f"../../..{sf}/infiniband/mlx5_7",
        f"{sf}/infiniband/mlx5_7/device": "../../../mlx5_core.sf.4",
        "/sys/bus/pci/devices/0000:01:00.0": f"../../../..{pci}",
        f"{pci}/driver": "../../../../bus/pci/drivers/mlx5_core",
    }
    (hca,) = read({"files": files, "links": links}, tmp_path)[0].hcas
    assert (hca.pci_address, hca.vendor_id, hca.numa_node, hca.netdevs) == ("0000:01:00.0", "0x15b3", 1, ["sf0"])
    assert hca.driver == "mlx5_core"


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


def test_what_a_pod_was_granted(tmp_path: Path) -> None:
    """The host's two functions and the pod's one, of which only the latter has a node here."""
    tree = Tree()
    for number in range(3):
        name = f"mlx5_{number}"
        tree.port(name, "1", state="ACTIVE", phys_state="LinkUp", link_layer="Ethernet")
        tree.gids(name, "1", ROCE)
        tree.manifest["files"][f"/sys/class/infiniband_verbs/uverbs{number}/ibdev"] = name
        tree.manifest["files"][f"/dev/infiniband/uverbs{max(1, number)}"] = ""
    tree.manifest["files"]["/proc/self/environ"] = "A=b\0PCIDEVICE_X_RAIL=0000:03:00.0\0"
    rdma, warnings = read(tree.manifest, tmp_path)
    assert warnings == []
    missing = "/dev/infiniband/uverbs0 is missing: visible, but it cannot be opened"
    refused = "the SR-IOV device plugin did not grant {} to this pod, only 0000:03:00.0"
    assert [hca.ports[0].reasons for hca in rdma.hcas] == [
        [missing, refused.format("0000:01:00.0")],
        [refused.format("0000:02:00.0")],
        [],
    ]
    assert [hca.uverbs for hca in rdma.hcas] == [None, "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs2"]


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


@pytest.mark.parametrize(
    ("manifest", "warning"),
    [
        ({"directories": ["/sys"]}, None),
        ({"directories": [CLASS]}, None),
        ({"directories": ["/proc"]}, "the RDMA devices are unknown: there is no /sys"),
        ({"links": {CLASS: "infiniband"}}, f"the RDMA devices are unknown: {CLASS} is a loop of links"),
        ({"files": {CLASS: "x"}}, f"the RDMA devices are unknown: {CLASS} is not a directory"),
    ],
)
def test_a_machine_without_devices(manifest: dict[str, Any], warning: str | None, tmp_path: Path) -> None:
    rdma, warnings = read(manifest, tmp_path)
    assert (rdma.usable, rdma.hcas) == (None if warning else False, [])
    assert warnings == ([warning] if warning else [])


def test_a_root_that_is_not_a_directory(tmp_path: Path) -> None:
    warnings: list[str] = []
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "no"):
        assert read_rdma(Host(str(root)), warnings.append).hcas == []
    assert warnings == ["the RDMA devices are unknown: there is no /sys"] * 2


def test_a_device_that_is_a_loop_of_links(tmp_path: Path) -> None:
    tree = infiniband()
    tree.manifest["links"][f"{CLASS}/mlx5_1"] = "mlx5_1"
    tree.manifest["links"][f"{tree.device('mlx5_0')}/device"] = "device"
    rdma, warnings = read(tree.manifest, tmp_path)
    assert [hca.name for hca in rdma.hcas] == ["mlx5_0", "mlx5_1"]
    assert rdma.hcas[0].ports[0].usable
    assert rdma.hcas[1].ports == []
    assert warnings == [f"mlx5_1: {CLASS}/mlx5_1 is a loop of links"]


def test_garbage_is_null(tmp_path: Path) -> None:
    tree = infiniband(rate="fast", lid="0x12a", sm_lid="1")
    for name in ("ports/1/lid", "ports/1/counters/link_downed", "ports/1/gids/0", "fw_ver", "ports/x/state"):
        tree.write("mlx5_0", name, "\0\ufffd" * 3000)
    tree.beside("mlx5_0", "vendor", "many words")
    tree.beside("mlx5_0", "numa_node", "near")
    port = only_port(tree, tmp_path)
    assert (port.rate_gbps, port.lid, port.counters, port.gids) == (None, None, {}, [])
    rdma, _warnings = read(tree.manifest, tmp_path / "again")
    assert (rdma.hcas[0].vendor_id, rdma.hcas[0].numa_node) == (None, None)


@needs_root
@pytest.mark.parametrize(
    ("closed", "names", "warning"),
    [
        ("sys/class/infiniband", [], f"the RDMA devices are unknown: {CLASS} cannot be listed"),
        ("sys/class", [], "the RDMA devices are unknown: /sys/class cannot be searched: permission denied"),
        (
            "sys/devices/pci0000:00/0000:00:01.0",
            ["mlx5_0"],
            "mlx5_0: /sys/devices/pci0000:00/0000:00:01.0 cannot be searched: permission denied",
        ),
        ("dev/infiniband/uverbs0", ["mlx5_0"], None),
    ],
)
def test_files_that_the_user_nobody_may_not_read(closed: str, names: list[str], warning: str | None) -> None:
    tree = infiniband()
    tree.manifest["files"]["/sys/class/infiniband_verbs/uverbs0/ibdev"] = "mlx5_0"
    tree.manifest["files"]["/dev/infiniband/uverbs0"] = ""
    with open_folder() as root:
        machine = Machine(tree.manifest, root)
        (root / closed).chmod(0)
        warnings: list[str] = []
        answer = as_nobody(lambda: [read_rdma(machine, warnings.append).to_dict(), warnings])
        (root / closed).chmod(0o755)
    rdma, messages = answer
    assert [hca["name"] for hca in rdma["hcas"]] == names
    assert messages == ([warning] if warning else [])
    if warning is None:
        reasons = ["/dev/infiniband/uverbs0 cannot be opened: permission denied"]
        assert rdma["hcas"][0]["ports"][0]["reasons"] == reasons
