# SPDX-License-Identifier: GPL-3.0-or-later
"""What the host's CPUs, memory and network have done since the sample before: its parts of /proc and /sys."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from typing import Any

PROC, INFINIBAND = "/proc", "/sys/class/infiniband"
# A port counts in words of four bytes (IBTA, PortCounters).
WORD = 4
MOST_PORTS = 32
_VIRTUAL = re.compile("lo$|veth|cali|tap|dummy")
_INTERFACE = re.compile(
    r"^ *([^:\s]{1,64}): *([0-9]{1,20})((?: +[0-9]{1,20}){7}) +([0-9]{1,20})", re.MULTILINE | re.ASCII
)
_MEMORY = re.compile(r"^(MemTotal|MemAvailable): *([0-9]{1,18}) kB", re.MULTILINE | re.ASCII)


def parse_ticks(text: str) -> tuple[int, int] | None:
    """Return the busy ticks of all CPUs and all ticks, from /proc/stat; to wait for a disk is idle (proc_stat(5))."""
    fields = text.partition("\n")[0].split()
    if (
        len(fields) < 6
        or fields[0] != "cpu"
        or not all(re.fullmatch("[0-9]{1,20}", item, re.ASCII) for item in fields[1:])
    ):
        return None
    # Guests are counted in the first two, too.
    ticks = [int(item) for item in fields[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def parse_memory(text: str) -> dict[str, int]:
    """Return the memory of /proc/meminfo in MiB: all, and what is not available."""
    kib = {name: int(value) for name, value in _MEMORY.findall(text)}
    if len(kib) < 2:
        return {}
    total, available = kib["MemTotal"], kib["MemAvailable"]
    return {"memory_mib": max(0, total - available) >> 10, "memory_total_mib": total >> 10}


def parse_interfaces(text: str) -> dict[str, tuple[int, int]]:
    """Return the bytes that each interface has received and sent, from /proc/net/dev; without those inside the host."""
    return {
        name: (int(received), int(sent))
        for name, received, _others, sent in _INTERFACE.findall(text)
        if not _VIRTUAL.match(name)
    }


class HostReader:
    """Reads the counters again and again."""

    def __init__(self, proc: str = PROC, infiniband: str = INFINIBAND) -> None:
        self._proc = proc
        self._ports = {
            f"{path.split('/')[-4]}/{path.split('/')[-2]}": path
            for path in sorted(glob.glob(f"{infiniband}/*/ports/*/counters"))[:MOST_PORTS]
        }
        self._before: tuple[float, tuple[int, int] | None, dict[str, tuple[int, int]]] | None = None

    def read(self, now: float) -> dict[str, Any]:
        """Return the shares and rates since the call before, at a time in seconds of any clock that never jumps.

        network has the bytes per second that each interface and RDMA port has received and sent.
        """
        cpu = parse_ticks(_text(f"{self._proc}/stat"))
        counters = {**parse_interfaces(_text(f"{self._proc}/net/dev")), **self._port_counters()}
        values: dict[str, Any] = parse_memory(_text(f"{self._proc}/meminfo"))
        if self._before is not None:
            then, cpu_then, counters_then = self._before
            if cpu and cpu_then and cpu[1] > cpu_then[1]:
                values["cpu_percent"] = round(100 * max(0, cpu[0] - cpu_then[0]) / (cpu[1] - cpu_then[1]), 1)
            values["network"] = _rates(counters_then, counters, now - then)
        self._before = now, cpu, counters
        return values

    def _port_counters(self) -> dict[str, tuple[int, int]]:
        counters = {}
        for name, path in list(self._ports.items()):
            words = [_text(f"{path}/{file}").strip() for file in ("port_rcv_data", "port_xmit_data")]
            if all(re.fullmatch("[0-9]{1,20}", word, re.ASCII) for word in words):
                counters[name] = (WORD * int(words[0]), WORD * int(words[1]))
            else:
                # Each read of a function that may not know its counters is a line in the kernel's log.
                del self._ports[name]
        return counters


def _rates(
    before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, list[int]]:
    """Return the rates of what has carried anything; a counter that went back was reset."""
    rates = {}
    for name, counts in after.items():
        if name in before and seconds > 0:
            pair = [round(max(0, now - then) / seconds) for then, now in zip(before[name], counts)]
            if any(pair):
                rates[name] = pair
    return rates


def _text(path: str) -> str:
    try:
        with open(os.fspath(path), "rb") as stream:
            return stream.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
