# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that describes a VM's PCI topology to NCCL.

A VM shows each GPU and each adapter on a bus of its own. NCCL finds only one file by itself (graph/topo.cc); clouds
ship theirs elsewhere and name it in /etc/nccl.conf, which containers do not have.
"""

from __future__ import annotations

from .._host.host import Host
from .._records.gpu import TopologyFile
from .._text.library_conf import parse_lines

BY_DEFAULT = "/var/run/nvidia-topologyd/virtualTopology.xml"
CONFIGURATION = "/etc/nccl.conf"
# Azure's images; one of several kinds of VM has the files of all of them.
FOLDERS = ("/opt/microsoft",)
NAME = "NCCL_TOPO_FILE"
# The first processor has the flags that count.
CPUINFO, FIRST = "/proc/cpuinfo", 8192


def parse_topology_setting(text: str) -> str | None:
    """Return the file that /etc/nccl.conf names."""
    return parse_lines(text).get(NAME) or None


def parse_hypervisor(text: str) -> bool | None:
    """Return whether /proc/cpuinfo shows a virtual machine; only x86 has this flag, so elsewhere it is unknown."""
    for line in text.splitlines():
        name, _colon, flags = line.partition(":")
        if name.strip() == "flags":
            return "hypervisor" in flags.split()
    return None


def read_topology_file(host: Host) -> TopologyFile | None:
    """Return the topology file of this machine; None without one, or where it is not known which of several it is."""
    if host.is_file(BY_DEFAULT):
        return TopologyFile(BY_DEFAULT, None)
    path = parse_topology_setting(host.read_text(CONFIGURATION) or "")
    if path is not None:
        return TopologyFile(path, CONFIGURATION) if path.startswith("/") and host.is_file(path) else None
    for folder in FOLDERS:
        names = [name for name in host.list_dir(folder) or [] if "topo" in name and name.endswith(".xml")]
        if len(names) == 1:
            return TopologyFile(f"{folder}/{names[0]}", folder)
    return None


def read_hypervisor(host: Host) -> bool | None:
    """Return whether this is a virtual machine, None where it is not known."""
    return parse_hypervisor(host.read_text(CPUINFO, FIRST) or "")
