# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of this process, which the ranks inherit."""

from __future__ import annotations

import dataclasses
import re

from .._host.host import Host
from .._records.system import Limit, Memlock

UNLIMITED = -1
# The limits that large jobs reach: sockets and pipes, threads, and the stack of mlx5 and of Python's recursion.
LIMITS = {"nofile": "Max open files", "nproc": "Max processes", "stack": "Max stack size"}
MEMLOCK = "Max locked memory"
CAP_IPC_LOCK = 14  # linux/capability.h
_LINE = re.compile(r"^(Max [a-z ]+?) {2,}(unlimited|[0-9]{1,20}) +(unlimited|[0-9]{1,20})(?: |$)", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]{1,16})$", re.MULTILINE)
_ALL_IDS = ["0", "0", "4294967295"]


def parse_limits(text: str) -> dict[str, Limit]:
    """Return the limits in /proc/PID/limits (proc_pid_limits(5)) by the kernel's name for them."""
    return {name: Limit(_number(soft), _number(hard)) for name, soft, hard in _LINE.findall(text)}


def parse_memlock(text: str) -> Memlock | None:
    """Return the limits of locked memory in /proc/PID/limits."""
    limit = parse_limits(text).get(MEMLOCK)
    return None if limit is None else Memlock(limit.soft, limit.hard)


def parse_capability(status: str, number: int) -> bool | None:
    """Return whether a process has a capability in effect, from /proc/PID/status."""
    match = _CAPABILITIES.search(status)
    return bool(int(match.group(1), 16) >> number & 1) if match else None


def parse_cap_ipc_lock(status: str, uid_map: str | None) -> bool | None:
    """Return whether the kernel lets this process lock without a limit (/proc/PID/status, /proc/PID/uid_map).

    The drivers call capable() (ib_umem_get in drivers/infiniband/core/umem.c), so the capabilities of a user namespace,
    as in rootless containers, do not count. Without user namespaces there is no uid_map.
    """
    return parse_capability(status, CAP_IPC_LOCK) and (uid_map is None or uid_map.split() == _ALL_IDS)


def read_memlock(host: Host) -> Memlock | None:
    """Return how much memory this process may lock."""
    memlock = parse_memlock(host.read_text("/proc/self/limits") or "")
    if memlock is None:
        return None
    is_exempt = parse_cap_ipc_lock(host.read_text("/proc/self/status") or "", host.read_text("/proc/self/uid_map"))
    return dataclasses.replace(memlock, cap_ipc_lock=is_exempt, effective=UNLIMITED if is_exempt else memlock.soft)


def read_limits(host: Host) -> dict[str, Limit]:
    """Return the limits of this process by their names in setrlimit(2)."""
    limits = parse_limits(host.read_text("/proc/self/limits") or "")
    return {name: limits[line] for name, line in LIMITS.items() if line in limits}


def _number(value: str) -> int:
    return UNLIMITED if value == "unlimited" else int(value)
