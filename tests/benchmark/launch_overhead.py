# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch costs compared to the same torchrun commands by hand.

usage: python tests/benchmark/launch_overhead.py [--rounds 3] [--steps 20]

Prints seconds and ratio, the peak memory of the controller (its whole process tree, summed at each sample), and how
much of the overhead is Ansible's own: three pings stand for the facts, start and collect modules of a launch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SCRIPT = ROOT / "examples" / "tiny_gpt" / "train.py"
NODES, RANKS = 2, 2
# A module that does nothing, as often as a launch runs one on every node.
PINGS = """\
- name: What Ansible itself takes
  hosts: nodes
  gather_facts: false
  tasks:
    - ansible.builtin.ping:
    - ansible.builtin.ping:
    - ansible.builtin.ping:
"""
# The plan's rule: the machine's cores divided by its ranks, 1 to 16 each.
THREADS = max(1, min(16, len(os.sched_getaffinity(0)) // (NODES * RANKS)))


def by_hand(home: Path, port: int, arguments: list[str]) -> float:
    """Run the torchrun commands side by side, as a person with two terminals would; return the seconds."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MUSTER_OUTPUT_DIR": str(home / "by_hand")}
    begun = time.monotonic()
    nodes = [
        subprocess.Popen(
            [
                *(str(BIN / "torchrun"), f"--nnodes={NODES}", f"--nproc-per-node={RANKS}", f"--node-rank={rank}"),
                *("--master-addr=127.0.0.1", f"--master-port={port}", str(SCRIPT), *arguments),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(NODES)
    ]
    codes = [node.wait() for node in nodes]
    if any(codes):
        raise SystemExit(f"torchrun by hand failed: exit codes {codes}")
    return time.monotonic() - begun


class Memory(threading.Thread):
    """Samples the resident memory of a process and its workers (not of the run: that has a session of its own)."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak_mib = 0.0

    def run(self) -> None:
        while Path(f"/proc/{self.pid}").exists():
            total = 0
            for stat in Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rpartition(")")[2].split()
                    if int(fields[3]) == self.pid:  # the session
                        pss = (stat.parent / "smaps_rollup").read_text().split("\nPss:")[1].split()[0]
                        total += int(pss)
                except (OSError, IndexError, ValueError):
                    continue
            self.peak_mib = max(self.peak_mib, total / 1024)
            time.sleep(0.25)


def launch(home: Path, arguments: list[str], with_memory: bool) -> tuple[float, float]:
    """Launch on the embedded cluster and follow to the end; return seconds and the controller's peak memory in MiB.

    Measuring memory takes a tenth of a core, so the round that measures it is not timed.
    """
    values = {"script_args": arguments, "channels": 42, "launch_experiments_dir": str(home / "experiments")}
    begun = time.monotonic()
    controller = subprocess.Popen(
        [BIN / "ansible-playbook", "launch.yml", "-e", json.dumps(values)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    memory = Memory(controller.pid)
    if with_memory:
        memory.start()
    out, _err = controller.communicate()
    seconds = time.monotonic() - begun
    if controller.returncode != 0:
        raise SystemExit(f"launch failed:\n{out}")
    if with_memory:
        memory.join()
    return seconds, memory.peak_mib


def ansible_alone(home: Path) -> float:
    """Ping the same nodes three times; return the seconds."""
    playbook = home / "pings.yml"
    playbook.write_text(PINGS, encoding="utf-8")
    begun = time.monotonic()
    subprocess.run([BIN / "ansible-playbook", playbook], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    arguments = ["--override", f"training.steps={options.steps}"]
    hand, muster, alone = [], [], []
    memory = 0.0
    for number in range(options.rounds + 1):
        home = Path(tempfile.mkdtemp(prefix="muster-bench-"))
        try:
            seconds = by_hand(home, 29700 + number, arguments)
            launched, peak = launch(home, arguments, with_memory=number == 0)
            pings = ansible_alone(home)
        finally:
            shutil.rmtree(home)
        kind = "warm-up" if number == 0 else f"round {number}"
        text = f"by hand {seconds:5.1f} s   launch {launched:5.1f} s   three pings {pings:4.1f} s"
        print(f"{kind:8}  {text}", flush=True)
        memory = max(memory, peak)
        if number:
            hand.append(seconds)
            muster.append(launched)
            alone.append(pings)
    by, ours = statistics.median(hand), statistics.median(muster)
    print(
        f"overhead  {ours - by:.1f} s, ratio {ours / by:.2f}; Ansible alone {statistics.median(alone):.1f} s; "
        f"controller {memory:.0f} MiB at most"
    )


if __name__ == "__main__":
    main()
