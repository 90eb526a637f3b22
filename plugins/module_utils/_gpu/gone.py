# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that the kernel lists and that are no longer on the bus, whichever driver they have."""

from __future__ import annotations

from collections.abc import Sequence

from .._host import pci
from .._host.host import Host
from .._records.gpu import Device, GpuFault

WORDS = "its PCI configuration space reads as ones only"


def pci_faults(host: Host, devices: Sequence[Device]) -> list[GpuFault]:
    """Return a fault for each PCI device that does not answer; partitions share that of their GPU."""
    addresses = [pci.physical(device.pci_address) for device in devices if device.pci_address]
    gone = [address for address in dict.fromkeys(addresses) if pci.is_gone(host, address)]
    return [GpuFault("lost", WORDS, f"{pci.DEVICES}/{address}/config", address) for address in gone]
