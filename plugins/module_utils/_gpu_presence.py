# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose GPUs a process here can open, and how many. (`_gpu_presence.py` is private to the collection.)

A container sees every GPU of its host in sysfs, whatever it was given: what counts is the device node.
"""

from __future__ import annotations

import re

from ._host import Host
from ._records import Gpu

# PCI class codes: VGA, 3D and other display controllers, processing accelerators (MI300X)
CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
VENDORS = {"0x10de": "nvidia", "0x1002": "amd"}
KFD_NODES = "/sys/class/kfd/kfd/topology/nodes"
_NVIDIA_NODE = re.compile(r"nvidia[0-9]+")


def read_gpu(host: Host) -> Gpu:
    """Return the vendor whose GPUs can be opened; a vendor with none when the GPUs are there but not for us."""
    for vendor, count in (("nvidia", _count_nvidia(host)), ("amd", _count_amd(host))):
        if count:
            return Gpu(vendor, count)
    return Gpu(_vendor_on_the_bus(host), 0)


def _count_nvidia(host: Host) -> int:
    return sum(1 for name in host.list_dir("/dev") or [] if _NVIDIA_NODE.fullmatch(name))


def _count_amd(host: Host) -> int:
    """Count KFD's GPUs (nodes with SIMDs; each partition is one) whose render node is here, as ROCm does."""
    if not host.exists("/dev/kfd"):
        return 0
    count = 0
    for node in host.list_dir(KFD_NODES) or []:
        text = host.read_text(f"{KFD_NODES}/{node}/properties") or ""
        properties = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
        if properties.get("simd_count", "0") != "0":
            count += host.exists("/dev/dri/renderD" + properties.get("drm_render_minor", ""))
    return count


def _vendor_on_the_bus(host: Host) -> str | None:
    devices = "/sys/bus/pci/devices"
    found = set()
    for name in host.list_dir(devices) or []:
        if (host.read_text(f"{devices}/{name}/class") or "").startswith(CLASSES):
            found.add(VENDORS.get((host.read_text(f"{devices}/{name}/vendor") or "").strip()))
    return next((vendor for vendor in VENDORS.values() if vendor in found), None)
