# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs as /dev, /proc and /sys list them, without a tool.

/proc/driver/nvidia is the driver's (its README, "The /proc Interface"). A container sees every GPU of its host in /sys,
and often in /proc, but can open only those with a node in /dev.
"""

from __future__ import annotations

import re

from ..._host import pci
from ..._host.host import Host
from ..._records.gpu import Device

PROC = "/proc/driver/nvidia"
_NODE = re.compile(r"nvidia([0-9]{1,4})", re.ASCII)
_DRIVER = re.compile(r"^NVRM version:.*?\s([0-9]{2,4}(?:\.[0-9]+)+)\s", re.MULTILINE | re.ASCII)


def minors(host: Host) -> set[int]:
    """Return the numbers of the device nodes /dev/nvidiaN."""
    return {int(match.group(1)) for match in map(_NODE.fullmatch, host.list_dir("/dev") or []) if match}


def driver_version(host: Host) -> str | None:
    """Return the version of the kernel module, open or not."""
    match = _DRIVER.search(host.read_text(f"{PROC}/version", 65536) or "")
    return match.group(1) if match else None


def on_bus(host: Host) -> list[str]:
    """Return the PCI addresses of the GPUs in the machine, without the virtual functions of a vGPU host."""
    return [
        address
        for address in host.list_dir(pci.DEVICES) or []
        if pci.vendor(host, address) == pci.NVIDIA
        and pci.is_gpu(host, address)
        and not host.exists(f"{pci.DEVICES}/{address}/physfn")
    ]


def read_devices(host: Host) -> list[Device]:
    """Return the GPUs that can be opened, or all if none can, in the order of the bus, as nvidia-smi does."""
    openable_minors = minors(host)
    devices = _of_driver(host, openable_minors)
    if not devices:
        addresses = on_bus(host)
        if openable_minors and len(openable_minors) != len(addresses):
            addresses = [""] * len(openable_minors)  # it is unknown which of them they are
        devices = [Device(0, pci_address=address or None) for address in addresses]
    return [
        Device(index, device.name, device.uuid, device.pci_address, pci.numa_node(host, device.pci_address))
        for index, device in enumerate(sorted(devices, key=lambda device: device.pci_address or ""))
    ]


def _of_driver(host: Host, openable_minors: set[int]) -> list[Device]:
    devices = []
    for name in host.list_dir(f"{PROC}/gpus") or []:
        information = parse_information(host.read_text(f"{PROC}/gpus/{name}/information", 65536) or "")
        minor = information.get("Device Minor", "")
        if information.get("GPU Excluded") == "Yes" or (
            openable_minors and minor.isdigit() and int(minor) not in openable_minors
        ):
            continue
        uuid = information.get("GPU UUID", "")
        devices.append(
            Device(
                index=0,
                name=information.get("Model") or None,
                uuid=uuid if uuid.startswith("GPU-") and "?" not in uuid else None,
                pci_address=pci.normalize(information.get("Bus Location") or name),
            )
        )
    return devices


def parse_information(text: str) -> dict[str, str]:
    """Return the lines `Name:  value` of /proc/driver/nvidia/gpus/ADDRESS/information."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}
