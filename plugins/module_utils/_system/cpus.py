# SPDX-License-Identifier: GPL-3.0-or-later
"""How many CPUs this process, and so the ranks, may use: by affinity and by the bandwidth of control groups.

A CPU limit of Docker or Kubernetes does not change the affinity: the process sees all CPUs, and is throttled when it
has used its share of a period (Linux Documentation/admin-guide/cgroup-v2.rst, cpu.max; scheduler/sched-bwc.rst).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._host.host import Host
from .control_groups import CGROUPS, levels, read_groups

# Where the controller is mounted in version 1.
V1_FOLDERS = ("cpu,cpuacct", "cpuacct,cpu", "cpu")
_CPU_LIST = re.compile(r"^Cpus_allowed_list:\s*(.*)$", re.MULTILINE)
_CPU_RANGE = re.compile(r"\s*([0-9]{1,10})(?:-([0-9]{1,10}))?\s*")
_MAX = re.compile(r"([0-9]{1,15}) ([0-9]{1,15})\s*", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)


def parse_cpu_list(text: str) -> int | None:
    """Return the number of CPUs in a list such as 0-3,8 (cpuset(7), List format), None if it is not a list."""
    count = 0
    for part in text.split(","):
        match = _CPU_RANGE.fullmatch(part)
        if not match:
            return None
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if last < first:
            return None
        count += last - first + 1
    return count


def parse_cpu_max(text: str) -> float | None:
    """Return the CPUs of a cpu.max ("800000 100000": quota and period in microseconds), None for "max"."""
    match = _MAX.fullmatch(text)
    return int(match.group(1)) / int(match.group(2)) if match and int(match.group(2)) else None


def read_affinity(host: Host) -> int | None:
    """Return how many CPUs the kernel lets this process run on; cpusets are part of it."""
    match = _CPU_LIST.search(host.read_text("/proc/self/status") or "")
    return parse_cpu_list(match.group(1)) if match else None


def read_cpu_limit(host: Host) -> int | None:
    """Return the whole CPUs that control groups leave this process, at least 1; None without a limit."""
    limits = list(_limits(host))
    return max(1, int(min(limits))) if limits else None


def _limits(host: Host) -> Iterator[float]:
    groups = read_groups(host)
    for folder in levels(groups.get("", "/")):
        limit = parse_cpu_max(host.read_text(f"{CGROUPS}{folder}/cpu.max") or "")
        if limit:
            yield limit
    if "cpu" in groups:
        mount = next((path for path in V1_FOLDERS if host.is_dir(f"{CGROUPS}/{path}")), None)
        for folder in levels(groups["cpu"]) if mount else ():
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            texts = [(host.read_text(f"{CGROUPS}/{mount}{folder}/{name}") or "").strip() for name in names]
            if all(map(_NUMBER.fullmatch, texts)) and all(map(int, texts)):
                yield int(texts[0]) / int(texts[1])
