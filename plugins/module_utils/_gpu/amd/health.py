# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of AMD's GPUs, from /sys alone.

amdgpu counts errors by block of the chip (Documentation/gpu/amdgpu/ras.rst), lists the memory pages that it has
retired, and shows load, memory and temperatures (thermal.rst there). A partition is reported with the counters of its
whole device.
"""

from __future__ import annotations

import re

from ..._host import pci, sysfs
from ..._host.host import Host
from ..._host.pci import read_link
from ..._records.health import GpuHealth, GpuState
from . import kfd
from .devices import openable

COUNTER = "_err_count"
MEMORY_USED = "mem_info_vram_used"
PAGES_LIMIT = 1024 * 1024
# Edge, junction and memory: accelerators have no edge sensor.
SENSORS = ("temp1_input", "temp2_input", "temp3_input")
_COUNT = re.compile(r"^ue: ?([0-9]{1,18})$", re.MULTILINE | re.ASCII)
_MASK = re.compile(r"feature mask: ?0x([0-9a-fA-F]{1,16})")
# One page per line: number, size and R (reserved), P (pending) or F (failed).
_PAGE = re.compile(r"^0x[0-9a-fA-F]{1,16} : 0x[0-9a-fA-F]{1,16} : [RPF]\s*$", re.MULTILINE)


def parse_count(text: str) -> int | None:
    """Return the uncorrected errors of a counter with the lines `ue: 0` and `ce: 0`."""
    match = _COUNT.search(text)
    return int(match.group(1)) if match else None


def parse_features(text: str) -> str | None:
    """Return enabled or disabled for the ECC of the memory, which is the first bit of the mask (amdgpu_ras.h: UMC)."""
    match = _MASK.search(text)
    return None if match is None else "enabled" if int(match.group(1), 16) & 1 else "disabled"


def parse_bad_pages(text: str) -> int:
    """Return how many pages gpu_vram_bad_pages lists."""
    return len(_PAGE.findall(text))


def read_amd_health(host: Host) -> GpuHealth:
    """Return the states of the GPUs that can be opened, in ROCm's order."""
    devices = openable(host, kfd.read_nodes(host))
    return GpuHealth([_state(host, index, gpu.address) for index, gpu in enumerate(devices)])


def _state(host: Host, index: int, address: str | None) -> GpuState:
    if address is None:
        return GpuState(index)
    folder = f"{pci.DEVICES}/{pci.physical(address)}"
    names = [name for name in host.list_dir(f"{folder}/ras") or [] if name.endswith(COUNTER)]
    counters = host.read_folder(f"{folder}/ras", names)
    counts = [parse_count(content.decode("utf-8", "replace")) for content in counters.values()]
    numbers = [count for count in counts if count is not None]
    pages = host.read_text(f"{folder}/ras/gpu_vram_bad_pages", PAGES_LIMIT)
    load, used = (sysfs.number(sysfs.text(host, f"{folder}/{name}")) for name in ("gpu_busy_percent", MEMORY_USED))
    return GpuState(
        index=index,
        pci_address=address,
        ecc_mode=parse_features(sysfs.text(host, f"{folder}/ras/features") or ""),
        ecc_uncorrected=sum(numbers) if numbers else None,
        **read_link(host, folder)._asdict(),
        bad_pages=None if pages is None else parse_bad_pages(pages),
        temperature_c=_temperature(host, f"{folder}/hwmon"),
        load_percent=load,
        memory_used_mib=None if used is None else used >> 20,
    )


def _temperature(host: Host, folder: str) -> int | None:
    """Return the degrees Celsius of the first sensor that there is."""
    values = (
        sysfs.number(sysfs.text(host, f"{folder}/{monitor}/{sensor}"))
        for monitor in host.list_dir(folder) or []
        for sensor in SENSORS
    )
    return next((value // 1000 for value in values if value is not None), None)
