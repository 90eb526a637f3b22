# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a node, what links them, and the HCAs near them. (`_gpu.py` is private to the collection.)

A container sees every GPU of its host in sysfs, whatever it was given: what counts is what a process can open.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Callable

from . import _amd, _nvidia, _nvidia_sysfs, _sysfs
from ._gpu_records import Device, Gpu, NicLink
from ._host import Host
from ._nearest import nearest_nics
from ._pci import address_in, pci_path, relation

# PCI class codes: VGA, 3D and other display controllers, processing accelerators (MI300X)
CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
VENDORS = {"0x10de": "nvidia", "0x1002": "amd"}
PCI_DEVICES = "/sys/bus/pci/devices"
HCAS = "/sys/class/infiniband"


def read_presence(host: Host) -> tuple[str | None, int]:
    """Return whose GPUs can be opened and how many, by no tool; 0 of a vendor when they are there but not for us."""
    for vendor, module in (("nvidia", _nvidia), ("amd", _amd)):
        count = module.present(host)
        if count:
            return vendor, count
    return _vendor_on_the_bus(host), 0


def read_gpu(host: Host, warn: Callable[[str], None]) -> Gpu:
    """Return all that can be known of the GPUs here; warn says what could not, and why."""
    vendor, _count = read_presence(host)
    if vendor == "nvidia":
        gpu = _nvidia.read(host, warn)
    elif vendor == "amd":
        gpu = _amd.read(host, warn)
    else:
        # WSL has GPUs without a device node or a PCI device of theirs; elsewhere nobody answers, and nobody is missed.
        gpu = _nvidia.read(host, _nothing)
        if not gpu.devices:
            return Gpu(None, 0)
    if not gpu.nic_links:
        gpu = dataclasses.replace(gpu, nic_links=_nic_links(host, gpu.devices))
    return dataclasses.replace(gpu, nearest_nics=nearest_nics(gpu.nic_links))


def _nothing(_warning: str) -> None:
    """Warn of nothing."""


def _vendor_on_the_bus(host: Host) -> str | None:
    found = set()
    for name in host.list_dir(PCI_DEVICES) or []:
        if (_sysfs.text(host, f"{PCI_DEVICES}/{name}/class") or "").startswith(CLASSES):
            found.add(VENDORS.get(_sysfs.text(host, f"{PCI_DEVICES}/{name}/vendor") or ""))
    return next((vendor for vendor in VENDORS.values() if vendor in found), None)


def _nic_links(host: Host, devices: Sequence[Device]) -> list[NicLink]:
    """Return what lies between each GPU and each HCA on the PCI bus, by sysfs alone."""
    hcas = []
    for name in sorted(host.list_dir(HCAS) or [], key=_sysfs.natural):
        address = address_in(host.resolve(f"{HCAS}/{name}/device") or "")
        path = pci_path(host, address) if address else None
        if path is not None:  # rxe and siw have no PCI device
            hcas.append((name, path, _nvidia_sysfs.numa_node(host, address)))
    found = []
    for device in devices:
        path = _path(host, device.pci_address)
        if path is not None:
            for name, other, numa_node in hcas:
                found.append(NicLink(device.index, name, relation(path, other, device.numa_node, numa_node)))
    return found


def _path(host: Host, address: str | None) -> str | None:
    """Return where a GPU is on the bus; an AMD partition is where function 0 of its device is."""
    if address is None:
        return None
    return pci_path(host, address) or pci_path(host, _amd.physical(address))
