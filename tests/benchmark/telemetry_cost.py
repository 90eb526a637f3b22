# SPDX-License-Identifier: GPL-3.0-or-later
"""What telemetry costs a node: CPU of the runner and of its sampler, with and without, and the sampler's memory.

usage: python tests/benchmark/telemetry_cost.py [--seconds 60] [--interval 10] [--rounds 2]

A runner whose ranks sleep, without and with telemetry in turns; the parent takes the CPU of all processes below the
runner except the ranks, those that have ended included. The tools of the GPUs' vendors count where they are installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.gang import SLEEP, Running, make_gang

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process, and of those of its children that have ended and were waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def peak_mib(pid: int) -> float:
    """Return the most memory that a process has had, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(interval: int, seconds: float) -> tuple[float, float, float, int]:
    """Return the share of a core in percent, the sampler's seconds to its first sample, its memory, and its samples."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as home:
        running = Running(make_gang(Path(home), [SLEEP], telemetry=interval))
        with gangs.started(running):
            running.wait_phase("running")
            runner = running.runners[0].pid
            launcher = int(running.state(0)["launcher"]["pid"])
            time.sleep(2.0)
            below = [item.pid for item in process_tree.descendants(runner) if item.session != launcher]
            start = sum(map(cpu_s, below))
            before = cpu_s(runner) + start
            time.sleep(seconds)
            share = 100 * (cpu_s(runner) + sum(map(cpu_s, below)) - before) / seconds
            memory = max(map(peak_mib, below), default=0.0)
            file = Path(running.jobs[0].run_dir, "telemetry.jsonl")
            return share, start, memory, len(file.read_bytes().splitlines()) if interval else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--interval", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    shares: dict[int, list[float]] = {0: [], options.interval: []}
    for number in range(options.rounds):
        # What comes first finds another machine than what comes second.
        for interval in sorted(shares, reverse=bool(number % 2)):
            share, start, memory, samples = measure(interval, options.seconds)
            shares[interval].append(share)
            more = f", {start:.2f} s of CPU to its start, {memory:.1f} MiB, {samples} samples" if interval else ""
            print(f"telemetry={interval}: {share:.2f} % of a core{more}", flush=True)
    without, sampled = (statistics.median(known) for known in shares.values())
    print(
        f"without {without:.2f} %, every {options.interval} s {sampled:.2f} %: {sampled - without:.2f} % of a core more"
    )


if __name__ == "__main__":
    main()
