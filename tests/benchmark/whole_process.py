# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command costs as a whole: wall time, CPU of the process and of what it started, memory, bytes on loopback."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Walking /proc costs CPU time, too.
SAMPLE_S = 0.5


@dataclasses.dataclass(frozen=True)
class Cost:
    """One run of a command. CPU: seconds of user and system time; sent: bytes that loopback carried meanwhile."""

    code: int
    wall_s: float
    own_cpu_s: float  # of the process itself
    children_cpu_s: float  # of all it started and waited for
    sent_bytes: int
    peak_mib: float  # of its session together, 0 where it was not sampled
    output: str

    @property
    def cpu_s(self) -> float:
        """All CPU time of the command."""
        return self.own_cpu_s + self.children_cpu_s


class _Memory(threading.Thread):
    """The largest resident memory of all processes of a session together, shared pages counted once."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session = str(session)
        self.peak_mib = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(SAMPLE_S):
            total = 0
            for stat in Path("/proc").glob("[0-9]*/stat"):
                try:
                    if stat.read_text().rpartition(")")[2].split()[3] == self._session:
                        total += int((stat.parent / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])
                except (OSError, IndexError, ValueError):
                    continue  # it has ended meanwhile
            self.peak_mib = max(self.peak_mib, total / 1024)


def measure(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    with_memory: bool = False,
    limit_s: float = 900,
) -> Cost:
    """Run a command to its end and return its cost; after limit_s seconds it is killed."""
    sent, begun = _loopback_bytes(), time.monotonic()
    process = subprocess.Popen(
        list(command),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    memory = _Memory(process.pid)
    if with_memory:
        memory.start()
    killer = threading.Timer(limit_s, process.kill)
    killer.start()
    assert process.stdout is not None
    output = process.stdout.read()
    # The zombie still has its times, its own and those of the children that it waited for.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.monotonic() - begun
    process_cpu, children_cpu = _cpu_times(process.pid)
    killer.cancel()
    memory.over.set()
    code = process.wait()
    return Cost(code, wall, process_cpu, children_cpu, _loopback_bytes() - sent, memory.peak_mib, output)


def _cpu_times(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system, children_user, children_system = (int(field) / TICKS for field in fields[11:15])
    return user + system, children_user + children_system


def _loopback_bytes() -> int:
    """Return how many bytes loopback has carried; on it, whatever one process sends another one receives."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))
