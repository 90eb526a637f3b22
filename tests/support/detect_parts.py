# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of real kinds of machine, as the modules return them, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, NodeAnswer, UserLayer
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import ClusterReport, detect
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT, Origin
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import UNTUNED, Users
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import FabricPolicy
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict

GDR = {"nvidia_peermem": True, "nv_peer_mem": False, "dmabuf": None, "amd_peer": False}
NO_GPU: dict[str, Any] = {"vendor": None, "count": 0}
NO_RDMA: dict[str, Any] = {"usable": False, "gdr": {**GDR, "nvidia_peermem": False}, "hcas": []}


def port(number: int = 1, **changes: Any) -> dict[str, Any]:
    """An InfiniBand port that works."""
    port_facts: dict[str, Any] = {
        "port": number,
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "link_layer": "InfiniBand",
        "rate_gbps": 400.0,
        "lid": 298,
        "sm_lid": 1,
        "netdev": None,
        "mtu": 4096,
        "counters": {"link_downed": 0},
        "gids": [],
        "rocev2_gid_index": None,
        "usable": True,
        "reasons": [],
    }
    return {**port_facts, **changes}


def roce(address: str, netdev: str, rate: float = 400.0, **changes: Any) -> dict[str, Any]:
    """A RoCE port with an IPv4 address at the usual index."""
    gid = {"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:0a00:0005", "type": "RoCE v2", "address": address}
    more = {"gids": [{**gid, "ndev": netdev}], "rocev2_gid_index": 3, "netdev": netdev, "lid": 0, "sm_lid": 0}
    return port(**{"link_layer": "Ethernet", "rate_gbps": rate, **more, **changes})


def down(why: str = "port is DOWN, not ACTIVE", **changes: Any) -> dict[str, Any]:
    """A port without a cable."""
    state = {"state": "DOWN", "phys_state": "Polling", "usable": False, "reasons": [why]}
    return port(**{**state, **changes})


def hca(name: str, bus: str, numa: int | None, *ports: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An RDMA device."""
    hca_facts: dict[str, Any] = {
        "name": name,
        "node_type": "CA",
        "vendor_id": "0x15b3",
        "driver": "mlx5_core",
        "hca_type": "MT4129",
        "board_id": "MT_0000000838",
        "fw_ver": "28.39.1002",
        "node_guid": "a088:c203:0012:3456",
        "pci_address": f"0000:{bus}:00.0",
        "numa_node": numa,
        "physfn": None,
        "uverbs": "/dev/infiniband/uverbs0",
        "netdevs": [],
        "ports": list(ports),
    }
    return {**hca_facts, **changes}


def nic_links(near: dict[int, str], names: dict[str, int | None], numas: list[int], word: str) -> list[dict[str, Any]]:
    """Every GPU and NIC: `word` for a GPU's own NIC, NODE on its NUMA node, SYS elsewhere."""
    return [
        {
            "gpu": number,
            "nic": name,
            "relation": word if near.get(number) == name else "NODE" if nic_numa == numa else "SYS",
        }
        for number, numa in enumerate(numas)
        for name, nic_numa in names.items()
    ]


def all_pairs(count: int, relation: str, links: int | None = None) -> list[dict[str, Any]]:
    """The same word between all GPUs."""
    return [{"a": a, "b": b, "relation": relation, "count": links} for a in range(count) for b in range(a + 1, count)]


def dgx_h100(**changes: Any) -> dict[str, Any]:
    """8 GPUs, each with its own ConnectX-7, and two for storage: 8 x 10."""
    buses = ["18", "2a", "3a", "5d", "9a", "ab", "ba", "db"]
    compute_hcas = ["mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"]
    numas = [0, 0, 0, 0, 1, 1, 1, 1]
    names: dict[str, int | None] = {**dict(zip(compute_hcas, numas, strict=True)), "mlx5_1": 0, "mlx5_7": 1}
    hcas = [hca(name, bus, numa, port()) for name, bus, numa in zip(compute_hcas, buses, numas, strict=True)]
    hcas += [hca("mlx5_1", "29", 0, roce("10.1.0.11", "enp41s0f0np0", 200.0), netdevs=["enp41s0f0np0"])]
    hcas += [hca("mlx5_7", "aa", 1, down(link_layer="Ethernet", rate_gbps=200.0, netdev="enp170s0f0np0"))]
    gpu_buses = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
    near = dict(enumerate(compute_hcas))
    return {
        "rdma": {"usable": True, "gdr": GDR, "hcas": hcas},
        "gpu": {
            "vendor": "nvidia",
            "count": 8,
            "driver_version": "550.54.15",
            "runtime_version": "12.4",
            "devices": [
                {
                    "index": number,
                    "name": "NVIDIA H100 80GB HBM3",
                    "uuid": f"GPU-5b3c8d1e-0000-4000-8000-00000000000{number}",
                    "pci_address": f"0000:{bus}:00.0",
                    "numa_node": numas[number],
                    "memory_mib": 81559,
                    "partition": None,
                }
                for number, bus in enumerate(gpu_buses)
            ],
            "links": all_pairs(8, "NV18", 18),
            "nics": {},
            "nic_links": nic_links(near, names, numas, "PIX"),
            "nearest_nics": [{"gpu": n, "relation": "PIX", "names": [name]} for n, name in near.items()],
            "topology_file": None,
            "virtual": None,
            "faults": [],
        },
        **changes,
    }


def mi300x(**changes: Any) -> dict[str, Any]:
    """8 GPUs with xGMI between all, each with its own Broadcom NIC behind AMD's bridge: nearest is PXB."""
    numas = [0, 0, 0, 0, 1, 1, 1, 1]
    names: dict[str, int | None] = {f"bnxt_re{number}": numa for number, numa in enumerate(numas)}
    near = dict(enumerate(names))
    gdr = {"nvidia_peermem": False, "nv_peer_mem": False, "dmabuf": None, "amd_peer": True}
    return {
        "rdma": {
            "usable": True,
            "gdr": gdr,
            "hcas": [
                hca(
                    name,
                    f"{5 + 16 * n:02x}",
                    numa,
                    roce(f"192.168.{n}.11", f"ens{n}np0"),
                    driver="bnxt_en",
                    hca_type="BCM57608",
                )
                for n, (name, numa) in enumerate(names.items())
            ],
        },
        "gpu": {
            "vendor": "amd",
            "count": 8,
            "driver_version": "6.10.5",
            "runtime_version": "6.3.1",
            "devices": [
                {
                    "index": n,
                    "name": "AMD Instinct MI300X OAM",
                    "uuid": f"GPU-{n:016x}",
                    "pci_address": f"0000:{5 + 16 * n:02x}:00.0",
                    "numa_node": numa,
                    "memory_mib": 196592,
                    "partition": None,
                }
                for n, numa in enumerate(numas)
            ],
            "links": all_pairs(8, "XGMI", 1),
            "nics": {},
            "nic_links": nic_links(near, names, numas, "PXB"),
            "nearest_nics": [{"gpu": n, "relation": "PXB", "names": [name]} for n, name in near.items()],
        },
        **changes,
    }


def dgx_a100() -> dict[str, Any]:
    """Two GPUs and two NICs behind each pair of switches: own NICs PIX, the neighbor's PXB."""
    numas = [0, 0, 0, 0, 1, 1, 1, 1]
    names: dict[str, int | None] = {f"mlx5_{n}": numas[n] for n in range(8)}
    links = [
        {
            "gpu": n,
            "nic": name,
            "relation": "PIX" if n == m else "PXB" if n // 2 == m // 2 else "NODE" if numas[n] == numas[m] else "SYS",
        }
        for n in range(8)
        for m, name in enumerate(names)
    ]
    machine = dgx_h100()
    machine["rdma"]["hcas"] = [hca(name, f"{n:02x}", numas[n], port(rate_gbps=200.0)) for n, name in enumerate(names)]
    machine["gpu"]["nic_links"] = links
    machine["gpu"]["nearest_nics"] = [{"gpu": n, "relation": "PIX", "names": [f"mlx5_{n}"]} for n in range(8)]
    machine["gpu"]["links"] = all_pairs(8, "NV12", 12)
    return machine


def laptop() -> dict[str, Any]:
    """Neither GPU nor HCA."""
    return {"rdma": NO_RDMA, "gpu": NO_GPU}


def answer(name: str, machine: dict[str, Any], number: int = 0, **facts: Any) -> Node:
    """What node `name` answered; `number` tells its machine and its addresses apart."""
    return Node.from_facts(name, {**machine, "node": facts_dict(number, **facts)}, name)


def cluster(*machines: dict[str, Any], **policy: Any) -> ClusterReport:
    """The report on these machines as node0, node1, …"""
    return detected([answer(f"node{n}", machine, n) for n, machine in enumerate(machines)], **policy)


def detected(
    answers: Sequence[NodeAnswer],
    mode: str = "auto",
    mode_origin: Origin = DEFAULT,
    layers: Sequence[UserLayer] = (),
    tuning: Any = UNTUNED,
    **policy: Any,
) -> ClusterReport:
    """The report on these answers by this policy."""
    return detect(answers, ClusterPolicy(**policy), Users(FabricPolicy(mode, mode_origin), layers, tuning=tuning))
