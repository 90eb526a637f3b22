# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a node, their links, and the HCAs near them.

A container sees every GPU of its host in sysfs, so only those that a process can open count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Callable

from .._host import pci, sysfs
from .._host.host import Host
from .._host.pci import address_in, pci_path, relation
from .._records.gpu import RELATIONS, Device, Gpu, Nearest, NicLink
from .._text.order import natural
from .nvidia import driver
from .virtual_topology import read_hypervisor, read_topology_file

VENDORS = {pci.NVIDIA: "nvidia", pci.AMD: "amd"}
TOOL_CAP_S = 5.0
# The first call where no GPU is visible; recorded machines may have only this output.
PROBE = ("nvidia-smi", "topo", "-m")

# The readers of a vendor are imported only with its GPUs: nodes compile what is imported.


def read_presence(host: Host) -> tuple[str | None, int]:
    """Return the vendor and the number of the GPUs that can be opened, without a tool."""
    count = len(driver.minors(host))
    if count:
        return "nvidia", count
    if host.exists("/dev/kfd"):
        from .amd import devices as amd_devices

        count = amd_devices.present(host)
    return ("amd", count) if count else (_vendor_on_the_bus(host), 0)


def read_gpu(host: Host, warn: Callable[[str], None]) -> Gpu | None:
    """Return the GPUs, None if they are unknown; warn gets what could not be read, and why."""
    vendor, _count = read_presence(host)
    if vendor == "nvidia":
        gpu = _read_nvidia(host, warn)
    elif vendor == "amd":
        from .amd import devices as amd_devices

        gpu = amd_devices.read(host, warn)
    else:
        gpu = _read_hidden(host, warn)
        if not gpu.devices and not gpu.faults:
            if host.is_dir("/dev") or host.is_dir("/sys"):
                return Gpu(None, 0)
            warn("the GPUs are unknown: there is no /dev and no /sys")
            return None
    if not gpu.nic_links:
        gpu = dataclasses.replace(gpu, nic_links=_nic_links(host, gpu.devices))
    return dataclasses.replace(
        gpu,
        nearest_nics=nearest_nics(gpu.nic_links),
        topology_file=read_topology_file(host),
        virtual=read_hypervisor(host),
    )


def _read_nvidia(host: Host, warn: Callable[[str], None]) -> Gpu:
    from .nvidia.devices import read as read_nvidia

    return read_nvidia(host, warn)


def _read_hidden(host: Host, warn: Callable[[str], None]) -> Gpu:
    """Return the GPUs that only a tool shows: WSL has them without device nodes and PCI devices.

    Elsewhere the tool is missing or fails (a driver without a GPU), which needs no warning. A tool that hangs gets one.
    """
    result = host.run(PROBE, TOOL_CAP_S)
    if result.timed_out:
        warn(f"{' '.join(PROBE)}: {result.why(TOOL_CAP_S)}; whether there are GPUs is unknown")
    if result.missing or result.timed_out:
        return Gpu(None, 0)
    return _read_nvidia(host, warn if result.rc == 0 else lambda _warning: None)


def _vendor_on_the_bus(host: Host) -> str | None:
    addresses = host.list_dir(pci.DEVICES) or []
    vendors = {VENDORS.get(pci.vendor(host, address) or "") for address in addresses if pci.is_gpu(host, address)}
    return next((vendor for vendor in VENDORS.values() if vendor in vendors), None)


def _nic_links(host: Host, devices: Sequence[Device]) -> list[NicLink]:
    """Return the relation of each GPU to each HCA on the PCI bus, from sysfs."""
    hcas = []
    for name in sorted(host.list_dir(sysfs.INFINIBAND) or [], key=natural):
        address = address_in(host.resolve(f"{sysfs.INFINIBAND}/{name}/device") or "")
        path = pci_path(host, address) if address else None
        if path is not None:  # rxe and siw have no PCI device
            hcas.append((name, path, pci.numa_node(host, address)))
    links = []
    for device in devices:
        path = _path(host, device.pci_address)
        if path is not None:
            for name, other, numa_node in hcas:
                links.append(NicLink(device.index, name, relation(path, other, device.numa_node, numa_node)))
    return links


def nearest_nics(links: Iterable[NicLink]) -> list[Nearest]:
    """Return for each GPU its closest relation to an HCA and all HCAs that have it."""
    relations_by_gpu: dict[int, dict[str, list[str]]] = {}
    for link in links:
        if link.relation in RELATIONS:
            relations_by_gpu.setdefault(link.gpu, {}).setdefault(link.relation, []).append(link.nic)
    return [
        Nearest(gpu, relation, relations[relation])
        for gpu, relations in sorted(relations_by_gpu.items())
        for relation in [min(relations, key=RELATIONS.index)]
    ]


def _path(host: Host, address: str | None) -> str | None:
    """Return the place of a GPU on the bus; an AMD partition has that of its device's function 0."""
    if address is None:
        return None
    return pci_path(host, address) or pci_path(host, pci.physical(address))
