# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs and links that the AMD compute driver (KFD) lists in sysfs.

Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c (node_show, iolink_show, mem_show): `name value` lines, all decimal.
If a device cgroup forbids a GPU, its node's properties are empty or return EPERM. Old kernels print fewer keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..._host.host import Host
from ..._records.frozen import frozen

NODES = "/sys/class/kfd/kfd/topology/nodes"
# include/uapi/linux/kfd_sysfs.h: HSA_IOLINK_TYPE_*, HSA_MEM_HEAP_TYPE_*
PCIE, XGMI = 2, 11
FRAME_BUFFERS = (1, 2)
# A page is the most that sysfs prints.
LIMIT = 65536


@frozen
class KfdLink:
    """A link from one node to another; weight is 15 per xGMI hop, 20 per PCIe segment, 13 inside one package."""

    to: int
    type: int
    weight: int


@frozen
class KfdNode:
    """A GPU, a partition of one, or (without SIMDs) the processors of a NUMA node. 0 is a missing value."""

    number: int
    simd_count: int = 0
    num_xcc: int = 0
    domain: int = 0
    location_id: int = 0
    hive_id: int = 0
    unique_id: int = 0
    gfx_target_version: int = 0
    drm_render_minor: int = 0

    @property
    def is_gpu(self) -> bool:
        return self.simd_count > 0

    @property
    def partition_id(self) -> int:
        """The partition of its PCI device: in bits 31:28, or as the function, which is 0 on every GPU.

        As rsmi_dev_pci_id_get of rocm_smi_lib reads it, because it depends on the kernel.
        """
        return self.location_id >> 28 & 0xF or self.location_id & 7

    @property
    def address(self) -> str | None:
        """The logical PCI address: the partition is the function, as ROCm's tools print it.

        None without a location: 0000:00:00.0 is the host bridge (but 0002:00:00.0 is a GPU in some clouds).
        """
        if not (self.domain or self.location_id):
            return None
        slot = f"{self.domain:04x}:{self.location_id >> 8 & 0xFF:02x}:{self.location_id >> 3 & 0x1F:02x}"
        return f"{slot}.{self.partition_id:x}"

    @property
    def gfx(self) -> str | None:
        """The instruction set's name: 90402 is gfx942, 90010 gfx90a."""
        version = self.gfx_target_version
        return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version else None


@frozen
class Kfd:
    """All nodes in KFD's order, which is that of ROCm's device numbers, and those that could not be read."""

    nodes: list[KfdNode]
    unreadable: list[int]

    @property
    def processors(self) -> list[int]:
        return [node.number for node in self.nodes if not node.is_gpu]


def parse_properties(text: str) -> dict[str, int]:
    """Return the `name value` lines; others are left out."""
    properties = {}
    for line in text.splitlines():
        fields = line.split()
        try:
            name, value = fields
            properties[name] = int(value)
        except ValueError:
            continue
    return properties


def read_nodes(host: Host) -> Kfd:
    """Return KFD's nodes; none where there is no KFD."""
    nodes, unreadable = [], []
    names = {field.name for field in dataclasses.fields(KfdNode)} - {"number"}
    for number in _numbers(host, NODES):
        properties = parse_properties(host.read_text(f"{NODES}/{number}/properties", LIMIT) or "")
        if properties:
            nodes.append(KfdNode(number, **{name: max(0, properties.get(name, 0)) for name in names}))
        else:
            unreadable.append(number)
    return Kfd(nodes, unreadable)


def read_links(host: Host, node: KfdNode) -> Iterator[KfdLink]:
    """Yield a node's links: io_links are direct, p2p_links lead through bridges and processors (since Linux 6.0)."""
    for kind in ("io_links", "p2p_links"):
        folder = f"{NODES}/{node.number}/{kind}"
        for number in _numbers(host, folder):
            properties = parse_properties(host.read_text(f"{folder}/{number}/properties", LIMIT) or "")
            if "node_to" in properties and "type" in properties:
                yield KfdLink(properties["node_to"], properties["type"], properties.get("weight", 0))


def read_memory(host: Host, node: KfdNode) -> int | None:
    """Return the bytes of the node's own memory; of a partition, its share."""
    total = 0
    folder = f"{NODES}/{node.number}/mem_banks"
    for number in _numbers(host, folder):
        bank = parse_properties(host.read_text(f"{folder}/{number}/properties", LIMIT) or "")
        if bank.get("heap_type") in FRAME_BUFFERS:
            total += max(0, bank.get("size_in_bytes", 0))
    return total or None


def read_relations(host: Host, kfd: Kfd, gpus: list[KfdNode]) -> dict[tuple[int, int], str | None]:
    """Return XGMI or PCIE, the words of ROCm's tools, for all pairs of places a < b in gpus; None is unknown.

    GPUs of one hive are linked by xGMI, each with each (kfd_crat.c: kfd_create_vcrat_image_gpu), even over
    several hops, so the 4,000 links of a machine in CPX mode need not be read.
    """
    links: dict[int, list[KfdLink]] = {}
    relations: dict[tuple[int, int], str | None] = {}
    for b, other in enumerate(gpus):
        for a, gpu in enumerate(gpus[:b]):
            if gpu.hive_id and gpu.hive_id == other.hive_id:
                relations[a, b] = "XGMI"
                continue
            for node in (gpu, other):
                if node.number not in links:
                    links[node.number] = list(read_links(host, node))
            relations[a, b] = _relation(kfd, (gpu.number, links[gpu.number]), (other.number, links[other.number]))
    return dict(sorted(relations.items()))


def read_processors(host: Host, kfd: Kfd, gpu: KfdNode) -> int | None:
    """Return the node of the GPU's processors; KFD numbers them as the kernel numbers NUMA nodes."""
    return next((link.to for link in read_links(host, gpu) if link.to in kfd.processors), None)


def _relation(kfd: Kfd, a: tuple[int, list[KfdLink]], b: tuple[int, list[KfdLink]]) -> str | None:
    """Return the relation of two GPUs by their links.

    Without a direct link, two GPUs with PCIe links to processors are PCIE (rocm_smi_lib: rsmi_topo_get_link_type):
    before Linux 6.0, or without CONFIG_HSA_AMD_P2P, KFD has no other links of them.
    """
    types = {link.type for link in a[1] if link.to == b[0]} | {link.type for link in b[1] if link.to == a[0]}
    if XGMI in types:
        return "XGMI"
    on_bus = all(any(link.type == PCIE and link.to in kfd.processors for link in links) for links in (a[1], b[1]))
    return "PCIE" if PCIE in types or on_bus else None


def _numbers(host: Host, folder: str) -> list[int]:
    """Return the folder's numbered entries in the order of their numbers: 10 comes after 9."""
    return sorted(int(name) for name in host.list_dir(folder) or [] if name.isascii() and name.isdecimal())
