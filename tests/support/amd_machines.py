# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests of machines with AMD GPUs, made from a line for each GPU instead of the hundreds of files KFD has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

NODES = "/sys/class/kfd/kfd/topology/nodes"
PCI = "/sys/bus/pci/devices"
HIVE = 9_223_372_036_854_775_801
MI300X_BUSES = (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5)
MI250_BUSES = (0xC1, 0xC6, 0xC9, 0xCE, 0xD1, 0xD6, 0xD9, 0xDE)


@dataclasses.dataclass(frozen=True)
class KfdGpu:
    """One KFD node of a GPU; memory in bytes, numa the node of processors it hangs on."""

    location_id: int
    unique_id: int
    numa: int = 0
    hive_id: int = HIVE
    num_xcc: int = 8
    gfx: int = 90402
    memory: int = 0


def properties(**values: int) -> str:
    return "".join(f"{name} {value}\n" for name, value in values.items())


def machine(
    gpus: Sequence[KfdGpu], weights: dict[tuple[int, int], int] | None = None, default: int = 15
) -> dict[str, Any]:
    """Return the manifest: two nodes of processors, then the GPUs, all in one hive linked with these weights."""
    files = {"/dev/kfd": "", f"{NODES}/0/properties": properties(cpu_cores_count=96, simd_count=0)}
    files[f"{NODES}/1/properties"] = properties(cpu_cores_count=96, simd_count=0)
    for index, gpu in enumerate(gpus):
        node = f"{NODES}/{index + 2}"
        files[f"{node}/properties"] = properties(
            cpu_cores_count=0,
            simd_count=152 * gpu.num_xcc,
            mem_banks_count=1,
            gfx_target_version=gpu.gfx,
            vendor_id=0x1002,
            location_id=gpu.location_id,
            domain=0,
            drm_render_minor=128 + index,
            hive_id=gpu.hive_id,
            unique_id=gpu.unique_id,
            num_xcc=gpu.num_xcc,
        )
        if gpu.memory:
            files[f"{node}/mem_banks/0/properties"] = properties(heap_type=1, size_in_bytes=gpu.memory, flags=0)
        files[f"{node}/io_links/0/properties"] = properties(type=2, node_from=index + 2, node_to=gpu.numa, weight=20)
        others = [other for other in range(len(gpus)) if other != index and gpus[other].hive_id == gpu.hive_id]
        for number, other in enumerate(others if gpu.hive_id else [], 1):
            weight = (weights or {}).get((min(index, other), max(index, other)), default)
            files[f"{node}/io_links/{number}/properties"] = properties(
                type=11, node_from=index + 2, node_to=other + 2, weight=weight
            )
        files[f"/dev/dri/renderD{128 + index}"] = ""
        address = f"0000:{gpu.location_id >> 8 & 0xFF:02x}:{gpu.location_id >> 3 & 0x1F:02x}.0"
        files[f"{PCI}/{address}/numa_node"] = f"{gpu.numa}\n"
        files[f"{PCI}/{address}/vendor"] = "0x1002\n"
        files[f"{PCI}/{address}/class"] = "0x120000\n"
    return {"about": "AMD", "files": files}


def mi300x() -> dict[str, Any]:
    """Eight MI300X, each whole: the driver of AMD, product names in their FRUs."""
    made = machine(
        [KfdGpu(bus << 8, 0xA0 + index, index // 4, memory=206141652992) for index, bus in enumerate(MI300X_BUSES)]
    )
    for bus in MI300X_BUSES:
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/product_name"] = "AMD Instinct MI300X OAM\n"
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/current_compute_partition"] = "SPX\n"
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/mem_info_vram_total"] = "206141652992\n"
    made["files"]["/sys/module/amdgpu/version"] = "6.8.5\n"
    made["files"]["/opt/rocm/.info/version"] = "6.2.4-139\n"
    return made


def mi300x_cpx() -> dict[str, Any]:
    """Eight MI300X in CPX, NPS1: 64 logical GPUs, the eight of one device share its unique id and its PCI device."""
    gpus = [
        KfdGpu(bus << 8 | part, 0xA0 + index, index // 4, num_xcc=1, memory=206141652992 // 8)
        for index, bus in enumerate(MI300X_BUSES)
        for part in range(8)
    ]
    made = machine(gpus, {(a, a + 1): 13 for a in range(63) if a % 8 != 7}, 41)
    for bus in MI300X_BUSES:
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/product_name"] = "AMD Instinct MI300X OAM\n"
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/mem_info_vram_total"] = "206141652992\n"
    return made


def mi250() -> dict[str, Any]:
    """Four MI250X cards, eight dies, each a PCI device of its own; not every die has a link to every other."""
    direct = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (1, 5), (3, 7), (4, 6), (5, 7), (0, 6), (2, 4)]
    gpus = [KfdGpu(bus << 8, 0xB0 + index, index // 4, num_xcc=1, gfx=90010) for index, bus in enumerate(MI250_BUSES)]
    made = machine(gpus, dict.fromkeys(direct, 15), 30)
    for bus in MI250_BUSES:
        made["files"][f"{PCI}/0000:{bus:02x}:00.0/mem_info_vram_total"] = "68702699520\n"
    return made
