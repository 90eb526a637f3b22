# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD's GPUs that are on the bus and that the compute driver (KFD) does not have.

A GPU whose initialization failed (amdgpu_device_ip_init) has no driver and no node of KFD; all else looks as ever.
A display adapter without compute support is bound to amdgpu, and a GPU that is passed on to a virtual machine is bound
to vfio-pci: only accelerators without a driver, or of a model that KFD has otherwise, are missed.
"""

from __future__ import annotations

import posixpath
import re

from ..._host import pci, sysfs
from ..._host.command import CommandResult
from ..._host.host import Host
from ..._records.gpu import GpuFault
from .kfd import Kfd

# Processing accelerators and display controllers without an output (MI200); a VGA controller may be for a screen.
ACCELERATORS = ("0x1200", "0x0380")
# The shortest lists of GPUs.
TOOLS = (("amd-smi", "list"), ("rocm-smi", "--showid"))
TOOL_CAP_S = 5.0
ABSENT = "KFD does not have it"
_DRIVER = re.compile("driver|amdgpu", re.IGNORECASE)


def find_lost(host: Host, kfd: Kfd) -> list[GpuFault]:
    """Return a fault for each GPU that KFD should have and has not; none where some of its nodes cannot be read.

    Without the driver the GPUs may be meant for something else, unless the tools that are there ask for it.
    """
    if kfd.unreadable:
        return []
    listed = {pci.physical(node.address) for node in kfd.nodes if node.is_gpu and node.address}
    models = {_model(host, address) for address in listed} - {None}
    lost = [
        address
        for address in host.list_dir(pci.DEVICES) or []
        if address not in listed
        and pci.vendor(host, address) == pci.AMD
        and not host.exists(f"{pci.DEVICES}/{address}/physfn")
        and _is_missed(host, address, models)
    ]
    words = _ask_tools(host) if lost else None
    if not host.is_dir("/sys/module/amdgpu") and not _DRIVER.search(words or ""):
        return []
    return [GpuFault("driver", words or ABSENT, "/sys/class/kfd", address) for address in lost]


def _is_missed(host: Host, address: str, models: set[str | None]) -> bool:
    override = sysfs.text(host, f"{pci.DEVICES}/{address}/driver_override")
    driver = posixpath.basename(host.resolve(f"{pci.DEVICES}/{address}/driver") or "driver")
    if driver not in ("driver", "amdgpu") or override not in (None, "", "(null)"):
        return False
    if pci.is_class(host, address, *ACCELERATORS):
        return driver == "driver" or _model(host, address) in models
    return pci.is_gpu(host, address) and _model(host, address) in models


def _model(host: Host, address: str) -> str | None:
    return sysfs.text(host, f"{pci.DEVICES}/{address}/device")


def _ask_tools(host: Host) -> str | None:
    """Return how the tools that are there explain it if all of them fail; of several the one that names the driver."""
    failures = []
    for command in TOOLS:
        result: CommandResult = host.run(command, TOOL_CAP_S)
        if result.rc == 0:
            return None
        if not result.missing:
            failures.append(f"{' '.join(command)}: {result.why(TOOL_CAP_S)}")
    return min(failures, key=lambda words: _DRIVER.search(words) is None, default=None)
