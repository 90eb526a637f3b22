# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that remain from runs, or hang in the kernel.

These are facts; the runner reads its processes in runner/process_tree.py.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping

from .._host.host import Host
from .._records.health import HungProcess, Processes, RunProcess
from ..runner.process import Process, parse_stat

# A process that waits for a disk is in state D as well, but runs in between.
HUNG_S = 1.0
_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s*([0-9]{1,20})$", re.MULTILINE | re.ASCII)


def read_processes(host: Host) -> Processes:
    """Return the processes. Below another root there is no waiting."""
    processes = _all(host)
    runs, hidden = _runs(host, processes)
    return Processes(runs=runs, hung=_hung(host, processes), hidden=hidden)


def _all(host: Host) -> dict[int, Process]:
    processes = {}
    for name in host.list_dir("/proc") or []:
        process = look(host, int(name)) if re.fullmatch("[0-9]{1,10}", name, re.ASCII) else None
        if process is not None:
            processes[process.pid] = process
    return processes


def look(host: Host, pid: int) -> Process | None:
    """Return the process, None if it does not exist or is a zombie."""
    try:
        process = parse_stat(host.read_text(f"/proc/{pid}/stat", 4096) or "")
    except ValueError:  # damaged
        return None
    return None if process is None or process.state in "ZX" else process


def command(host: Host, pid: int) -> str | None:
    """Return the process's short name (15 bytes, from the kernel)."""
    return (host.read_text(f"/proc/{pid}/comm", 256) or "").strip() or None


def uid(host: Host, pid: int) -> int | None:
    """Return the uid of the process."""
    owner = host.owner(f"/proc/{pid}")
    return None if owner is None else owner.uid


def run_id(host: Host, pid: int) -> str | None:
    """Return the run whose mark the process has; None also if its environment may not be read."""
    return parse_mark(host.read_text(f"/proc/{pid}/environ") or "")


def rank(host: Host, pid: int) -> int | None:
    """Return the rank that the process has in a run, None without one."""
    number = parse_variable(host.read_text(f"/proc/{pid}/environ") or "", "RANK") or ""
    return int(number) if re.fullmatch("[0-9]{1,7}", number, re.ASCII) else None


def parse_mark(environ: str) -> str | None:
    """Return the run id in the text of /proc/<pid>/environ."""
    return parse_variable(environ, "MUSTER_RUN_ID")


def parse_variable(environ: str, wanted: str) -> str | None:
    """Return the value of a variable in the text of /proc/<pid>/environ."""
    pairs = (variable.partition("=") for variable in environ.split("\0"))
    return next((value for name, _equals, value in pairs if name == wanted), None)


# Runs


def _runs(host: Host, processes: Mapping[int, Process]) -> tuple[list[RunProcess], int]:
    """Return the processes of runs, and how many others could not be attributed."""
    runs, hidden = [], 0
    for pid in sorted(processes):
        if host.is_live and pid == os.getpid():
            continue
        environ = host.read_text(f"/proc/{pid}/environ")
        if environ is None:
            # Kernel threads have neither a command line nor an environment.
            hidden += bool(host.read_text(f"/proc/{pid}/cmdline", 16))
            continue
        mark = parse_mark(environ)
        if mark is not None:
            runs.append(RunProcess(pid, uid(host, pid), command(host, pid), mark))
    return runs, hidden


# Hung


def _hung(host: Host, processes: Mapping[int, Process]) -> list[HungProcess] | None:
    asleep = {pid: process for pid, process in processes.items() if process.state == "D"}
    if not asleep:
        return []
    if not host.is_live:
        return None
    before = {pid: _switches(host, pid) for pid in asleep}
    time.sleep(HUNG_S)
    hung = []
    for pid, process in sorted(asleep.items()):
        if look(host, pid) == process and _switches(host, pid) == before[pid]:
            wait = (host.read_text(f"/proc/{pid}/wchan", 256) or "").strip()
            hung.append(HungProcess(pid, command(host, pid), wait if wait not in ("", "0") else None))
    return hung


def _switches(host: Host, pid: int) -> int | None:
    return parse_switches(host.read_text(f"/proc/{pid}/status", 8192) or "")


def parse_switches(text: str) -> int | None:
    """Return the number of context switches of a process, from /proc/<pid>/status."""
    numbers = _SWITCHES.findall(text)
    return sum(map(int, numbers)) if numbers else None
