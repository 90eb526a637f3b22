# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI devices: their places on the bus, their distances and their PCIe links.

A PCI device's real path names every bridge above it: /sys/devices/pciDDDD:BB/<bridge>/…/<device>.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from . import sysfs
from .host import Host

DEVICES = "/sys/bus/pci/devices"
# Vendors and class codes of GPUs: VGA, 3D and other display controllers, processing accelerators (MI300X).
NVIDIA, AMD = "0x10de", "0x1002"
GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
# Documentation/ABI/testing/sysfs-bus-pci
ATTRIBUTES = ("current_link_width", "max_link_width", "current_link_speed", "max_link_speed")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s\b.*", re.ASCII)
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}


def normalize(address: str) -> str | None:
    """Return an address as the kernel writes it (0000:0c:00.0; tools print 00000000:0C:00.0 or 0c:00.0 too)."""
    match = _ADDRESS.fullmatch(address.strip().lower())
    if match is None:
        return None
    domain, bus, device, function = match.groups("0")
    return f"{domain.lstrip('0').zfill(4)}:{bus}:{device}.{function}"


def address_in(path: str) -> str | None:
    """Return the address of the last PCI device on a path."""
    addresses = [name for name in path.split("/") if _is_address(name)]
    return addresses[-1] if addresses else None


def physical(address: str) -> str:
    """Return the address of the device that an AMD GPU's logical address is a partition of: function 0."""
    return address.rpartition(".")[0] + ".0"


def pci_path(host: Host, address: str) -> str | None:
    """Return the real path of a device below /sys/devices, None when the kernel does not list it."""
    name = normalize(address)
    path = None if name is None else host.resolve(f"{DEVICES}/{name}")
    return path if path is not None and _chain(path) else None


def bridges_above(path: str) -> list[str]:
    """Return the bridges above the device of a real path, the root port first."""
    return _chain(path)[1:-1]


def numa_node(host: Host, address: str | None) -> int | None:
    """Return the NUMA node of a device; the kernel's -1 is None."""
    return sysfs.number(sysfs.text(host, f"{DEVICES}/{address}/numa_node")) if address else None


def is_gpu(host: Host, address: str) -> bool:
    """Return whether a device is a GPU by its class: its audio and USB functions have the same vendor."""
    return is_class(host, address, *GPU_CLASSES)


def is_class(host: Host, address: str, *classes: str) -> bool:
    """Return whether a device is of one of these classes (as 0x0300: base class and subclass)."""
    return (sysfs.text(host, f"{DEVICES}/{address}/class") or "").startswith(classes)


def vendor(host: Host, address: str) -> str | None:
    """Return the vendor of a device, as 0x10de."""
    return sysfs.text(host, f"{DEVICES}/{address}/vendor")


def is_gone(host: Host, address: str) -> bool:
    """Return whether a device that the kernel lists no longer answers on the bus: it is read as ones."""
    return host.read_bytes(f"{DEVICES}/{address}/config", 4) == b"\xff" * 4


def relation(path_a: str, path_b: str, numa_a: int | None, numa_b: int | None) -> str:
    """Return PIX, PXB, PHB, NODE or SYS for two real paths and the NUMA nodes there (None: unknown).

    As nvidia-smi and NCCL (src/graph/xml.cc: ncclTopoGetXmlFromSys, two bridges are one switch): below a common
    bridge PIX, with more than one switch between PXB; below one root bus PHB; on one NUMA node NODE.
    """
    a, b = _chain(path_a), _chain(path_b)
    if not a or not b or a[0] != b[0]:
        return "NODE" if numa_a is not None and numa_a == numa_b and numa_a >= 0 else "SYS"
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    if common > 1:
        return "PIX" if max(len(a), len(b)) - common <= 2 else "PXB"
    # Functions of one device on the root bus are one device.
    same_device = len(a) == len(b) == 2 and a[1].rpartition(".")[0] == b[1].rpartition(".")[0]
    return "PIX" if same_device else "PHB"


def _is_address(name: str) -> bool:
    match = _ADDRESS.fullmatch(name)
    return match is not None and match.group(1) is not None


def _chain(path: str) -> list[str]:
    """Return the root bus and the PCI devices below it; empty when the path is not one of a PCI device."""
    names = path.split("/")
    root = next((place for place, name in enumerate(names) if _ROOT.fullmatch(name)), None)
    if root is None:
        return []
    devices = [name for name in names[root + 1 :] if _is_address(name)]
    return [names[root], *devices] if devices else []


class PcieLink(NamedTuple):
    """The fields of Hca and GpuState; None is unknown, as of a virtual function. An idle GPU may lower link_gen."""

    link_width: int | None = None
    link_width_max: int | None = None
    link_gen: int | None = None
    link_gen_max: int | None = None


def parse_generation(text: str | None) -> int | None:
    """Return the generation of "32.0 GT/s PCIe"."""
    match = _SPEED.fullmatch(text or "")
    return GENERATIONS.get(float(match.group(1))) if match else None


def parse_width(text: str | None) -> int | None:
    """Return the lanes; 0 and 255 mean unknown."""
    number = sysfs.number(text)
    return number if number is not None and 0 < number <= 64 else None


def parse_link(attributes: Mapping[str, str]) -> PcieLink:
    """Return the link of a device's attributes."""
    width, width_max, speed, speed_max = map(attributes.get, ATTRIBUTES)
    return PcieLink(parse_width(width), parse_width(width_max), parse_generation(speed), parse_generation(speed_max))


def read_link(host: Host, folder: str) -> PcieLink:
    """Return the link of the device in that folder."""
    return parse_link(sysfs.texts(host, folder, ATTRIBUTES))
