# SPDX-License-Identifier: GPL-3.0-or-later
"""Main memory, what of it control groups leave, huge pages and the CPUs' governor."""

from __future__ import annotations

import re

from .._host import sysfs
from .._host.host import Host
from .._records.health import Memory
from .control_groups import CGROUPS, levels, read_groups

POLICIES = "/sys/devices/system/cpu/cpufreq"
NO_LIMIT = 1 << 60
_NUMBER = re.compile(r"[0-9]{1,20}", re.ASCII)
_LINE = re.compile(r"^([A-Za-z_]{1,40}):[ \t]*([0-9]{1,18})( kB)?[ \t]*$", re.MULTILINE | re.ASCII)


def parse_meminfo(text: str) -> dict[str, int]:
    """Return the lines of /proc/meminfo, in bytes where they are in kB (proc_meminfo(5))."""
    return {name: int(number) * (1024 if kb else 1) for name, number, kb in _LINE.findall(text)}


def read_memory(host: Host) -> Memory:
    """Return the memory, and the governors of all CPUs."""
    values = parse_meminfo(host.read_text("/proc/meminfo") or "")
    policies = (name for name in host.list_dir(POLICIES) or [] if name.startswith("policy"))
    governors = {sysfs.text(host, f"{POLICIES}/{name}/scaling_governor") for name in policies} - {None}
    return Memory(
        total_bytes=values.get("MemTotal"),
        available_bytes=values.get("MemAvailable"),
        swap_bytes=values.get("SwapTotal"),
        hugepages=values.get("HugePages_Total"),
        governor=", ".join(sorted(filter(None, governors))) or None,
        limit_bytes=read_memory_limit(host),
    )


def read_memory_limit(host: Host) -> int | None:
    """Return the least limit of this process's control groups, None without one.

    Version 2 writes "max", version 1 a number near 2^63 (Linux Documentation/admin-guide: cgroup-v2.rst, memory.max;
    cgroup-v1/memory.rst).
    """
    groups = read_groups(host)
    files = [f"{CGROUPS}{folder}/memory.max" for folder in levels(groups.get("", "/"))]
    if "memory" in groups:
        files += [f"{CGROUPS}/memory{folder}/memory.limit_in_bytes" for folder in levels(groups["memory"])]
    texts = (sysfs.text(host, path) or "" for path in files)
    limits = [int(text) for text in texts if _NUMBER.fullmatch(text)]
    return min((limit for limit in limits if limit < NO_LIMIT), default=None)
