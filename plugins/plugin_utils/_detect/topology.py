# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a node for a drawing: sockets, PCI groups, GPUs, NICs.

Groups follow from the facts about each GPU and NIC: PIX and PXB mean a path over bridges without the CPU. The facts do
not contain the bridges themselves, so they are not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS, Device, Gpu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca, Port, Rdma
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._nccl.hcas import NEAR
from . import links

NicState = Literal["used", "usable", "unusable"]

_FUNCTION = re.compile(r"\.[0-7]$")
_MAKERS = re.compile(r"^(?:NVIDIA|AMD|Advanced Micro Devices,? Inc\.?)\s+(?:Instinct\s+|GeForce\s+)?", re.IGNORECASE)


@frozen
class Chip:
    """One physical GPU; its partitions are the logical GPUs `indexes`."""

    indexes: tuple[int, ...]
    name: str
    memory: str
    numa: int | None
    nearest: str
    devices: tuple[Device, ...]

    @property
    def label(self) -> str:
        """`GPU 3`, or `GPU 0-7` for a GPU in partitions."""
        first, last = self.indexes[0], self.indexes[-1]
        if len(self.indexes) == 1:
            return f"GPU {first}"
        together = self.indexes == tuple(range(first, last + 1))
        return f"GPU {first}-{last}" if together else f"GPU {', '.join(map(str, self.indexes))}"


@frozen
class Nic:
    """One RDMA device: `speed` and `layer` of its link, `state` for a job, `why` if it is not used.

    detail is its interface, or its type if it has none.
    """

    name: str
    detail: str
    speed: str
    layer: str
    state: NicState
    up: bool
    why: str
    numa: int | None
    relation: str


@frozen
class PciCluster:
    """GPUs and NICs with at most one PCI bridge between them (PIX), or a single device."""

    chips: tuple[Chip, ...]
    nics: tuple[Nic, ...]

    @property
    def columns(self) -> int:
        """The width in devices."""
        return max(len(self.chips), len(self.nics))


@frozen
class Group:
    """Devices that reach each other without the CPU: `relation` is PIX or PXB, or empty for devices that do not."""

    relation: str
    clusters: tuple[PciCluster, ...]

    @property
    def columns(self) -> int:
        """The width in devices."""
        return sum(cluster.columns for cluster in self.clusters)


@frozen
class Socket:
    """A NUMA node; None is for devices without a known NUMA node."""

    numa: int | None
    groups: tuple[Group, ...]


def short_name(name: str | None) -> str:
    """Return a GPU's name without its maker's."""
    return _MAKERS.sub("", name or "GPU, name not known")


def memory(device: Device) -> str:
    """Return `80 GiB`, in whole GiB: a driver reserves some MiB of them."""
    if device.memory_mib is None:
        return ""
    return f"{device.memory_mib / 1024:.0f} GiB" if device.memory_mib >= 1024 else f"{device.memory_mib} MiB"


def rate(port: Port) -> str:
    """Return `400 Gb/s`."""
    return f"{port.rate_gbps:g} Gb/s" if port.rate_gbps is not None else "rate not known"


def chips(gpu: Gpu | None) -> list[Chip]:
    """Return the physical GPUs; partitions of one have the same PCI address except for the function."""
    if gpu is None:
        return []
    boards: dict[Hashable, list[Device]] = {}
    for device in gpu.devices:
        partitioned = device.partition and device.pci_address
        key = _FUNCTION.sub("", str(device.pci_address)) if partitioned else device.index
        boards.setdefault(key, []).append(device)
    nearest = {near.gpu: links.nearest(near) for near in gpu.nearest_nics if near.names}
    return [
        Chip(
            indexes=tuple(device.index for device in devices),
            name=short_name(devices[0].name),
            memory=_memory(devices),
            numa=devices[0].numa_node,
            nearest=nearest.get(devices[0].index, ""),
            devices=tuple(devices),
        )
        for devices in boards.values()
    ]


def _memory(devices: Sequence[Device]) -> str:
    size = memory(devices[0])
    if devices[0].partition is None:
        return size
    return " ".join(filter(None, [f"{len(devices)} x {devices[0].partition}", size]))


def nics(rdma: Rdma | None, gpu: Gpu | None, used: Collection[str]) -> list[Nic]:
    """Return the RDMA devices in natural order; `used` are the names of those that a job uses."""
    best: dict[str, str] = {}
    for link in gpu.nic_links if gpu else []:
        best[link.nic] = min(link.relation, best.get(link.nic, link.relation), key=_distance)
    hcas = sorted(rdma.hcas, key=lambda hca: natural(hca.name)) if rdma else []
    return [_nic(hca, hca.name in used, best.get(hca.name, "")) for hca in hcas]


def _nic(hca: Hca, used: bool, relation: str) -> Nic:
    usable = any(port.usable for port in hca.ports)
    up = any(port.state == "ACTIVE" for port in hca.ports)
    # The port to show: a usable one, or else one that is up, or else the fastest.
    best = max(hca.ports, key=lambda port: (port.usable, port.state == "ACTIVE", port.rate_gbps or 0), default=None)
    several = len(hca.ports) > 1
    reasons = [f"port {port.port}: {why}" if several else why for port in hca.ports for why in port.reasons]
    return Nic(
        name=hca.name,
        detail=next((port.netdev for port in hca.ports if port.netdev), "")
        or ", ".join(hca.netdevs)
        or hca.hca_type
        or "",
        speed=rate(best) if best and up else (best.state or "state not known") if best else "no port",
        layer=(best.link_layer or "link layer not known") if best else "",
        state="used" if used else "usable" if usable else "unusable",
        up=up,
        why="" if used else "; ".join(dict.fromkeys(reasons)),
        numa=hca.numa_node,
        relation=relation,
    )


def _distance(relation: str) -> int:
    return RELATIONS.index(relation) if relation in RELATIONS else len(RELATIONS)


def sockets(rdma: Rdma | None, gpu: Gpu | None, used: Collection[str]) -> list[Socket]:
    """Lay out the node: sockets by number, groups by their first GPU, devices without a group last."""
    all_chips, all_nics = chips(gpu), nics(rdma, gpu, used)
    edges = _edges(gpu, all_chips, all_nics)
    places: dict[int | None, list[Group]] = {}
    members: list[Chip | Nic] = [*all_chips, *all_nics]
    for component in _components(members, [edge[:2] for edge in edges if edge[2] in NEAR]):
        inside = [edge for edge in edges if edge[0] in component and edge[1] in component]
        near = {edge[2] for edge in inside} & set(NEAR)
        relation = "PXB" if "PXB" in near else "PIX" if near else ""
        # If all relations are PXB, the group has no clusters to distinguish.
        parts = (
            _components(component, [edge[:2] for edge in inside if edge[2] == "PIX"]) if "PIX" in near else [component]
        )
        group = Group(relation, tuple(_cluster(part) for part in parts))
        numa = next((member.numa for member in component if member.numa is not None), None)
        places.setdefault(numa, []).append(group)
    return [
        Socket(numa, (*(group for group in places[numa] if group.relation), *_loose(places[numa])))
        for numa in sorted(places, key=lambda numa: (numa is None, numa or 0))
    ]


def _edges(
    gpu: Gpu | None, all_chips: Iterable[Chip], all_nics: Iterable[Nic]
) -> list[tuple[Chip | Nic, Chip | Nic, str]]:
    by_index = {index: chip for chip in all_chips for index in chip.indexes}
    by_name = {nic.name: nic for nic in all_nics}
    return [
        (by_index[link.gpu], by_name[link.nic], link.relation)
        for link in (gpu.nic_links if gpu else [])
        if link.gpu in by_index and link.nic in by_name
    ]


def _components(
    members: Sequence[Chip | Nic], pairs: Iterable[tuple[Chip | Nic, Chip | Nic]]
) -> list[list[Chip | Nic]]:
    """Partition the members into components joined by pairs, in the order of the members."""
    component = {member: [member] for member in members}
    for a, b in pairs:
        if component[a] is not component[b]:
            component[a] += component[b]
            for member in component[b]:
                component[member] = component[a]
    distinct = {id(joined): joined for joined in component.values()}
    rank = {member: place for place, member in enumerate(members)}
    return sorted((sorted(joined, key=rank.__getitem__) for joined in distinct.values()), key=lambda j: rank[j[0]])


def _cluster(members: Iterable[Chip | Nic]) -> PciCluster:
    devices = list(members)
    return PciCluster(
        chips=tuple(device for device in devices if isinstance(device, Chip)),
        nics=tuple(device for device in devices if isinstance(device, Nic)),
    )


def _loose(groups: Iterable[Group]) -> list[Group]:
    """Arrange the devices without a group in columns, GPUs above NICs, without lines between them."""
    alone = [cluster for group in groups if not group.relation for cluster in group.clusters]
    upper = [chip for cluster in alone for chip in cluster.chips]
    lower = [nic for cluster in alone for nic in cluster.nics]
    columns = max(len(upper), len(lower))
    return [Group("", (PciCluster(tuple(upper[n : n + 1]), tuple(lower[n : n + 1])),)) for n in range(columns)]
