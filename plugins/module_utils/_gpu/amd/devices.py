# SPDX-License-Identifier: GPL-3.0-or-later
"""The AMD GPUs of a node, from KFD and the PCI devices in sysfs.

A GPU in partitions (CPX, QPX, TPX, DPX) is one PCI device but several KFD nodes, each of them a device for ROCm. Its
tools give partition N the address of function N, which is not on the bus: the PCI facts of a partition are those of
pci.physical(address).
"""

from __future__ import annotations

import re
from typing import Callable

from ..._host import pci, sysfs
from ..._host.host import Host
from ..._records.gpu import Device, Gpu, Link
from ..gone import pci_faults
from . import tools
from .kfd import Kfd, KfdNode, read_memory, read_nodes, read_processors, read_relations
from .lost import find_lost

MIB = 1024 * 1024
_PARTITION = re.compile(r"[A-Z]{2,4}")
# How many partitions each mode makes (amdgpu_xcp.h, aqua_vanjaram.c); CPX makes one of every XCC.
_MODES = {2: "DPX", 3: "TPX", 4: "QPX"}


def present(host: Host) -> int:
    """Return how many GPUs, partitions counted, a process can open: those of KFD with a render node."""
    return len(openable(host, read_nodes(host)))


def read(host: Host, warn: Callable[[str], None]) -> Gpu:
    """Return the GPUs that can be opened, in ROCm's order, and their links, without NICs.

    The tools are called only if sysfs has no product name (cards without a FRU) or KFD has no links.
    """
    kfd = read_nodes(host)
    gpus = openable(host, kfd)
    if kfd.unreadable:
        numbers = ", ".join(map(str, kfd.unreadable))
        warn(f"KFD does not let this process read its nodes {numbers}: GPUs that it may not use, left out")
    relations = read_relations(host, kfd, gpus)
    names = [_product(host, gpu) for gpu in gpus]
    answer = tools.ask(host, warn, names=None in names, links=None in relations.values())
    devices = [
        Device(
            index=index,
            name=names[index] or _name_by_tool(answer.names, gpu) or gpu.gfx,
            uuid=f"GPU-{gpu.unique_id:016x}" if gpu.unique_id else None,
            pci_address=gpu.address,
            numa_node=_numa_node(host, gpu, kfd),
            memory_mib=_memory_mib(host, gpu, kfd),
            partition=_partition(host, gpu, kfd),
        )
        for index, gpu in enumerate(gpus)
    ]
    known = [(a, b, word or answer.links.get(_pair(gpus[a], gpus[b]))) for (a, b), word in relations.items()]
    return Gpu(
        vendor="amd",
        count=len(gpus),
        driver_version=sysfs.text(host, "/sys/module/amdgpu/version"),  # AMD's own driver; the kernel's has no version
        runtime_version=sysfs.text(host, "/opt/rocm/.info/version"),
        devices=devices,
        links=[Link(a, b, word) for a, b, word in known if word],
        faults=[*find_lost(host, kfd), *pci_faults(host, devices)],
    )


def openable(host: Host, kfd: Kfd) -> list[KfdNode]:
    """Return the GPUs that a process can open."""
    if not host.exists("/dev/kfd"):
        return []
    return [node for node in kfd.nodes if node.is_gpu and host.exists(f"/dev/dri/renderD{node.drm_render_minor}")]


def _pair(a: KfdNode, b: KfdNode) -> tuple[str, str]:
    first, second = sorted([a.address or "", b.address or ""])
    return first, second


def _of_device(host: Host, gpu: KfdNode, name: str) -> str | None:
    """Return the text of a file of the GPU's PCI device."""
    return sysfs.text(host, f"{pci.DEVICES}/{pci.physical(gpu.address)}/{name}") if gpu.address else None


def _product(host: Host, gpu: KfdNode) -> str | None:
    """Return the name in the card's FRU (amdgpu_fru_eeprom.c); only server cards have one."""
    name = _of_device(host, gpu, "product_name")
    return None if name in ("N/A", "Unknown", "unknown") else name


def _name_by_tool(names: dict[str, str], gpu: KfdNode) -> str | None:
    return (names.get(gpu.address) or names.get(pci.physical(gpu.address))) if gpu.address else None


def _numa_node(host: Host, gpu: KfdNode, kfd: Kfd) -> int | None:
    """Return the node of the PCI bus, or else of KFD, which has 0 for an unknown one."""
    text = _of_device(host, gpu, "numa_node")
    if text is None:
        return read_processors(host, kfd, gpu)
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else None


def _siblings(gpu: KfdNode, kfd: Kfd) -> list[KfdNode]:
    """Return all GPUs on the PCI device of this one."""
    if not gpu.address:
        return [gpu]
    device = pci.physical(gpu.address)
    return [node for node in kfd.nodes if node.is_gpu and node.address and pci.physical(node.address) == device]


def _partition(host: Host, gpu: KfdNode, kfd: Kfd) -> str | None:
    """Return the driver's partition mode, or else what the nodes show if all of them can be read."""
    mode = _of_device(host, gpu, "current_compute_partition")
    if mode and _PARTITION.fullmatch(mode):
        return mode
    siblings = _siblings(gpu, kfd)
    if any(node.partition_id for node in siblings):
        return "CPX" if gpu.num_xcc == 1 else None if kfd.unreadable else _MODES.get(len(siblings))
    return "SPX" if gpu.num_xcc > 1 and not kfd.unreadable else None


def _memory_mib(host: Host, gpu: KfdNode, kfd: Kfd) -> int | None:
    """Return the memory of the GPU, of a partition its share; the PCI device has only the total."""
    size = read_memory(host, gpu)
    if size is None and _partition(host, gpu, kfd) in (None, "SPX"):
        text = _of_device(host, gpu, "mem_info_vram_total") or ""
        size = int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None
    return None if size is None else size // MIB
