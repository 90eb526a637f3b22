# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where PCI devices are, and how far from each other. (`_pci.py` is private to the collection.)

A PCI device's real path names every bridge above it: /sys/devices/pciDDDD:BB/<bridge>/…/<device>.
"""

from __future__ import annotations

import re

from ._host import Host

DEVICES = "/sys/bus/pci/devices"
# From near to far, the words of `nvidia-smi topo -m`.
RELATIONS = ("PIX", "PXB", "PHB", "NODE", "SYS")
_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")


def normalize(address: str) -> str | None:
    """Return an address as the kernel writes it (0000:0c:00.0; tools print 00000000:0C:00.0 or 0c:00.0 too)."""
    match = _ADDRESS.fullmatch(address.strip().lower())
    if match is None:
        return None
    domain, bus, device, function = match.groups("0")
    return f"{domain.lstrip('0').zfill(4)}:{bus}:{device}.{function}"


def address_in(path: str) -> str | None:
    """Return the address of the last PCI device on a path."""
    found = [name for name in path.split("/") if _is_address(name)]
    return found[-1] if found else None


def pci_path(host: Host, address: str) -> str | None:
    """Return the real path of a device below /sys/devices, None when the kernel does not list it."""
    name = normalize(address)
    path = None if name is None else host.resolve(f"{DEVICES}/{name}")
    return path if path is not None and _chain(path) else None


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
