# SPDX-License-Identifier: GPL-3.0-or-later
"""What RDMA nodes are made of, for tests of the resolver: ports, HCAs, GID tables and whole nodes as records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, NicLink
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Net, Route
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gdr, Gid, Hca, Port, Rdma
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import HeadInterface
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT, Layer, Origin
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import (
    FabricPolicy,
    Library,
    NodeView,
    resolve,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import NotSet

AUTO = FabricPolicy("auto", DEFAULT)
MUST_RDMA = FabricPolicy("rdma", Origin(Layer.EXTRA_VARS, "-e mode"))
MUST_TCP = FabricPolicy("tcp", Origin(Layer.EXTRA_VARS, "-e mode"))
NEWEST = Library("nccl", (2, 27, 3))
V1, V2 = "IB/RoCE v1", "RoCE v2"


def gids(*addresses: str, ndev: str | None = "eth2", start: int = 0) -> list[Gid]:
    """A RoCE table as the kernel fills it: for each address the v1 and the v2 entry."""
    return [
        Gid(start + 2 * place + offset, "", kind, address, ndev)
        for place, address in enumerate(addresses)
        for offset, kind in enumerate((V1, V2))
    ]


def port(number: int = 1, layer: str = "InfiniBand", rate: float | None = 400.0, **changes: Any) -> Port:
    """An ACTIVE port in use."""
    fields: dict[str, Any] = {
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "link_layer": layer,
        "rate_gbps": rate,
        "lid": 7 if layer == "InfiniBand" else 0,
        "sm_lid": 1 if layer == "InfiniBand" else 0,
        "netdev": None,
        "mtu": 4096,
        "counters": {},
        "gids": [],
        "rocev2_gid_index": None,
        "usable": True,
        "reasons": [],
    }
    return Port(port=number, **{**fields, **changes})


def down(layer: str = "InfiniBand", **changes: Any) -> Port:
    """A port without a link; the rate of such a port means nothing."""
    without: dict[str, Any] = {"state": "DOWN", "phys_state": "Disabled", "usable": False, "reasons": ["state DOWN"]}
    return port(layer=layer, rate=40.0, **{**without, **changes})


def hca(name: str, *ports: Port, **changes: Any) -> Hca:
    """A device with these ports, by default one InfiniBand port."""
    fields: dict[str, Any] = {
        "node_type": "CA",
        "vendor_id": "0x15b3",
        "driver": "mlx5_core",
        "hca_type": "MT4129",
        "board_id": "MT_0000000838",
        "fw_ver": "28.39.1002",
        "node_guid": "0000:0000:0000:0001",
        "pci_address": "0000:0c:00.0",
        "numa_node": 0,
        "physfn": None,
        "uverbs": "/dev/infiniband/uverbs0",
        "netdevs": [item.netdev for item in ports if item.netdev],
        "ports": list(ports) or [port()],
    }
    return Hca(name=name, **{**fields, **changes})


def roce(name: str, *addresses: str, rate: float = 400.0, netdev: str = "eth2", start: int = 0, **changes: Any) -> Hca:
    """A RoCE device whose network device has these addresses beside its link-local one."""
    table = gids("fe80::1", *addresses, ndev=netdev, start=start)
    return hca(name, port(layer="Ethernet", rate=rate, netdev=netdev, gids=table), **changes)


def efa(name: str) -> Hca:
    """Amazon's EFA as the kernel shows it: not usable by NCCL's own transport."""
    reasons = ["link layer Unknown"]
    return hca(
        name,
        port(layer="Unknown", rate=100.0, usable=False, reasons=reasons),
        vendor_id="0x1d0f",
        driver="efa",
        node_type="unspecified",
        hca_type=None,
        board_id=None,
    )


def rdma(hcas: Iterable[Hca], **gdr: Any) -> Rdma:
    devices = list(hcas)
    loaded = Gdr(**{"nvidia_peermem": True, "nv_peer_mem": False, "dmabuf": None, "amd_peer": False, **gdr})
    return Rdma(any(item.usable for device in devices for item in device.ports), loaded, devices)


def gpu(count: int = 8, near: Sequence[tuple[int, str, str]] = (), vendor: str = "nvidia") -> Gpu:
    """GPUs, and what lies between them and the HCAs: (index, HCA, relation)."""
    return Gpu(
        vendor if count else None,
        count,
        devices=[Device(index) for index in range(count)],
        nic_links=[NicLink(*item) for item in near],
    )


def net(default: str = "eth0", **networks: str) -> Net:
    """Interfaces with a network each, as name="address/prefix"; the default route leaves by one of them."""
    networks = networks or {"eth0": "10.9.0.1/16"}
    addresses = [Address(value.partition("/")[0], name) for name, value in networks.items()]
    routes = [Route("0.0.0.0/0", default, "10.9.255.254", 100), Route("127.0.0.0/8", "lo", None, 0)]
    for name, value in networks.items():
        address, _slash, length = value.partition("/")
        octets = ".".join([*address.split(".")[: int(length) // 8], *["0"] * (4 - int(length) // 8)])
        routes.append(Route(f"{octets}/{length}", name, None, 0))
    return Net.from_dict(
        {
            "addresses": [vars(item) for item in addresses],
            "routes": [vars(item) for item in routes],
            "listening": [],
            "holders": {},
        }
    )


def view(name: str = "node0", hcas: Iterable[Hca] | None = (), **changes: Any) -> NodeView:
    """A node of eight GPUs that reaches the head over eth0; hcas None: nothing is known of RDMA."""
    fields: dict[str, Any] = {
        "rdma": None if hcas is None else rdma(hcas),
        "gpu": gpu(),
        "net": net(),
        "library": NEWEST,
        "interface": HeadInterface("eth0", "route to the head"),
        "container": False,
    }
    return NodeView(name=name, **{**fields, **changes})


def reasons(node: NodeView, policy: FabricPolicy = AUTO) -> dict[str, str]:
    """Why each variable of a node is set, or left to NCCL."""
    environment = resolve([node], policy).nodes[node.name]
    items: list[Variable | NotSet] = [*environment.variables, *environment.not_set]
    return {item.name: item.reason for item in items}
