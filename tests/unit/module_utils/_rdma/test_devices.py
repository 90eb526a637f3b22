# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices from sysfs: what each kind of machine looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support.rdma_ports import IPV4, LL, ROCE, V1, V2, read, roce
from ansible_collections.muster.train.tests.support.rdma_trees import CLASS, Tree


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
        "sriov_numvfs": "0",
        "sriov_totalvfs": "16",
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
                        "signaling": "4X NDR",
                    }
                ],
                "link_width": 8,
                "link_width_max": 16,
                "link_gen": 4,
                "link_gen_max": 5,
                "virtual_functions": 0,
                "virtual_functions_max": 16,
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
    assert not second.ports[0].usable


def software() -> dict[str, Any]:
    """RDMA in software in three ways, and a device that is none."""
    tree = Tree()
    tree.device("siw0", on_pci=False)
    # As Linux before 5.x has it: on the PCI device of its interface.
    tree.write("rxe0", "parent", "eth0")
    for name in ("siw0", "rxe0"):
        tree.port(name, "1", state="ACTIVE", link_layer="Ethernet")
    tree.manifest["files"][f"{CLASS}/rxe1/ports/1/state"] = "4: ACTIVE"
    tree.manifest["files"][f"{CLASS}/rxe1/ports/1/link_layer"] = "Ethernet"
    tree.manifest["links"][f"{CLASS}/scif0"] = "../../devices/scif_dma_0/infiniband/scif0"
    return tree.manifest


def test_devices_in_software(tmp_path: Path) -> None:
    rdma, warnings = read(software(), tmp_path)
    assert (rdma.usable, len(warnings)) == (False, 1)
    result = {hca.name: [len(port.reasons) for port in hca.ports] for hca in rdma.hcas}
    assert result == {"rxe0": [1], "rxe1": [1], "scif0": [], "siw0": [1]}
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


def pod() -> dict[str, Any]:
    """The host's two functions and the pod's one, of which only the latter has a node here."""
    tree = Tree()
    for number in range(3):
        name = f"mlx5_{number}"
        tree.port(name, "1", state="ACTIVE", phys_state="LinkUp", link_layer="Ethernet")
        tree.gids(name, "1", ROCE)
        tree.manifest["files"][f"/sys/class/infiniband_verbs/uverbs{number}/ibdev"] = name
        tree.manifest["files"][f"/dev/infiniband/uverbs{max(1, number)}"] = ""
    tree.manifest["files"]["/proc/self/environ"] = "A=b\0PCIDEVICE_X_RAIL=0000:03:00.0\0"
    return tree.manifest


def test_what_a_pod_was_granted(tmp_path: Path) -> None:
    rdma, warnings = read(pod(), tmp_path)
    assert warnings == []
    assert [len(hca.ports[0].reasons) for hca in rdma.hcas] == [2, 1, 0]
    assert [hca.uverbs for hca in rdma.hcas] == [None, "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs2"]
