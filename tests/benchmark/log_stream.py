# SPDX-License-Identifier: GPL-3.0-or-later
"""How soon `logs -e follow=true` shows the end of much output, and the peak memory of runners and controller.

usage: python tests/benchmark/log_stream.py [--nodes N] [--nproc N] [--mib N of each rank] [--seconds S] [--binary]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

LIMIT_S = 500
END = re.compile(r"rank\d+ +\| rank (\d+) ends at ([0-9.]+)")


def peak_mib(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def runners(cluster: Cluster) -> list[int]:
    processes = cluster.processes(RUN_ID)
    return [p.pid for p in processes if process_tree.environment(p.pid).get("MUSTER_ROLE") == "runner"]


class Peaks(threading.Thread):
    """The highest memory of the controller's main process and of its largest worker."""

    def __init__(self, controller: int) -> None:
        super().__init__(daemon=True)
        self.controller = controller
        self.main = self.worker = 0.0

    def run(self) -> None:
        while peak := peak_mib(self.controller):
            self.main = max(self.main, peak)
            workers = process_tree.descendants(self.controller)
            self.worker = max([self.worker, *(peak_mib(worker.pid) for worker in workers)])
            time.sleep(1)


def follow(controller: subprocess.Popen[str], ranks: int, until: Path) -> tuple[dict[int, float], int, int]:
    """Return the seconds until each rank's end was shown, and how many lines and skips were."""
    delays: dict[int, float] = {}
    lines = skipped = 0
    assert controller.stdout
    for line in controller.stdout:
        lines += 1
        skipped += "MiB skipped" in line
        if match := END.search(line):
            delays[int(match[1])] = time.time() - float(match[2])
            if len(delays) == ranks:
                until.touch()
    return delays, lines, skipped


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--nproc", type=int, default=1)
    parser.add_argument("--mib", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--binary", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        launcher = "python" if args.nproc == 1 else "torchrun"
        policy = {"launch_defaults": {"script": "talker.py", "launcher": launcher, "nproc": args.nproc}}
        place = Path(home, "cluster")
        place.mkdir()
        cluster = Cluster(place, [f"node{number}" for number in range(args.nodes)], policy)
        until = Path(home, "until")
        words = ["--seconds", str(args.seconds), "--mib", str(args.mib), "--until", str(until)]
        try:
            launched = cluster.launch("-f", str(args.nodes), script_args=[*words, *["--binary"] * args.binary])
            assert launched.rc == 0, launched.out
            pids = runners(cluster)
            timer = threading.Timer(LIMIT_S, until.touch)
            timer.daemon = True
            timer.start()
            controller = cluster.begin("logs", "-f", str(args.nodes), follow=True)
            peaks = Peaks(controller.pid)
            peaks.start()
            runner = 0.0

            def watch() -> None:
                nonlocal runner
                while peak := max(map(peak_mib, pids), default=0.0):
                    runner = max(runner, peak)
                    time.sleep(1)

            threading.Thread(target=watch, daemon=True).start()
            delays, lines, skipped = follow(controller, args.nodes * args.nproc, until)
            rc = controller.wait(LIMIT_S)
        finally:
            until.touch()
            cluster.destroy()
    late = sorted(delays.values())
    ranks = f"{args.nodes * args.nproc} ranks on {args.nodes} nodes, {args.mib:g} MiB each{', binary' * args.binary}"
    print(
        f"{ranks}: the end of {len(late)} was shown, the last after {late[-1] if late else -1:.1f} s; {lines} lines, "
        f"{skipped} skips; peak: runner {runner:.0f} MiB, controller {peaks.main:.0f} MiB, its largest worker "
        f"{peaks.worker:.0f} MiB; rc {rc}"
    )


if __name__ == "__main__":
    main()
