# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes that use GPUs. A launch reads them, too: users with different work directories share the GPUs."""

from __future__ import annotations

import re

from .._gpu.devices import read_presence
from .._host import pci
from .._host.host import Host
from .._records.gpu import GpuProcess

# Only compute processes: monitors and the persistence daemon have the device nodes open, too.
USERS = ("nvidia-smi", "--query-compute-apps=pid,gpu_bus_id", "--format=csv,noheader")
TIMEOUT_S = 5.0
KFD = "/sys/class/kfd/kfd/proc"
_USER = re.compile(r"\s*([0-9]{1,10})\s*,\s*([0-9A-Fa-f:.]{1,20})\s*", re.ASCII)


def read_gpu_processes(host: Host) -> list[GpuProcess] | None:
    """Return the processes that compute on GPUs, None if they are unknown. Below another root no tool is run."""
    vendor, _count = read_presence(host)
    if vendor == "amd":
        names = host.list_dir(KFD)
        pids = (name for name in names or [] if re.fullmatch("[0-9]{1,10}", name, re.ASCII))
        return None if names is None else [_user(host, int(pid), "/dev/kfd") for pid in pids]
    if not host.is_live:
        return None if vendor else []
    result = host.run(USERS, TIMEOUT_S)
    if result.missing and not vendor:  # the tool alone shows the GPUs of WSL
        return []
    return [_user(host, pid, device) for pid, device in parse_users(result.out)] if result.rc == 0 else None


def parse_users(text: str) -> list[tuple[int, str | None]]:
    """Return pid and PCI address of the lines of nvidia-smi --query-compute-apps."""
    matches = filter(None, map(_USER.fullmatch, text.splitlines()))
    return [(int(match.group(1)), pci.normalize(match.group(2))) for match in matches]


def _user(host: Host, pid: int, device: str | None) -> GpuProcess:
    from .processes import command, rank, run_id, uid  # GPUs are rarely in use; nodes compile what is imported

    owner, run = uid(host, pid), run_id(host, pid)
    user = None if owner is None else host.user_name(owner)
    return GpuProcess(pid, owner, command(host, pid), run, device, user, rank(host, pid) if run else None)
