# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's settings for RDMA and GPUs."""

from __future__ import annotations

import re

from .._host import sysfs
from .._host.host import Host
from .._rdma.gdr import MEMORY_PEERS
from .._records.system import Kernel
from .cpus import parse_cpu_list

# Parameters (Documentation/admin-guide/kernel-parameters.txt) that affect how GPUs and adapters reach each other and
# memory.
PARAMETERS = (
    *("amd_iommu", "intel_iommu", "iommu", "iommu.passthrough", "iommu.strict", "pci", "pcie_acs_override"),
    "pcie_aspm",
    *("default_hugepagesz", "hugepages", "hugepagesz", "isolcpus", "numa", "numa_balancing", "transparent_hugepage"),
)
MODULES = (
    *("amdgpu", "bnxt_re", "gdrdrv", "ib_umad", "ib_uverbs", "ionic_rdma", "irdma", "mlx5_ib", "nv_peer_mem"),
    *("nvidia", "nvidia_peermem", "rdma_ucm"),
)
NETNS_MODES = {"Y": "shared", "1": "shared", "N": "exclusive", "0": "exclusive"}
_CHOSEN = re.compile(r"\[([a-z+_]{1,40})\]")


def parse_command_line(text: str) -> list[str]:
    """Return these parameters in /proc/cmdline, in order: of two with one name the later takes effect."""
    return [word for word in text.split() if word.partition("=")[0] in PARAMETERS]


def parse_chosen(text: str) -> str | None:
    """Return the word in brackets, which is the kernel's current choice."""
    match = _CHOSEN.search(text)
    return match.group(1) if match else None


def read_kernel(host: Host) -> Kernel:
    """Return the kernel's facts."""

    def word(path: str) -> str:
        return sysfs.text(host, path) or ""

    command_line = host.read_text("/proc/cmdline")
    balancing = word("/proc/sys/kernel/numa_balancing")
    peers = {name for folder in MEMORY_PEERS for name in host.list_dir(folder) or []}
    return Kernel(
        release=word("/proc/sys/kernel/osrelease") or None,
        command_line=None if command_line is None else parse_command_line(command_line),
        numa_balancing=int(balancing) if re.fullmatch("[0-9]{1,3}", balancing) else None,
        numa_nodes=parse_cpu_list(word("/sys/devices/system/node/online")),
        transparent_hugepage=parse_chosen(word("/sys/kernel/mm/transparent_hugepage/enabled")),
        modules=[module for module in MODULES if host.is_dir(f"/sys/module/{module}")],
        memory_peers=sorted(peers),
        rdma_netns=NETNS_MODES.get(word("/sys/module/ib_core/parameters/netns_mode")),
    )
