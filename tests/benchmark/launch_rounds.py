# SPDX-License-Identifier: GPL-3.0-or-later
"""How many launches of the example succeed on a busy machine.

usage: python tests/benchmark/launch_rounds.py [--rounds 300] [--at-once 4] [--steps 120] [--failures DIRECTORY]

Launches inventories/local as `make launch` does, several at once: the others are the load of each. Every lane has its
own ports and directories. The whole output and the experiment of a launch that fails are kept in DIRECTORY.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
PORTS_OF_A_LANE = 500


@dataclass(frozen=True)
class Round:
    """How one launch ended."""

    number: int
    succeeded: bool
    seconds: float


def launch(home: Path, lane: int, steps: int) -> tuple[bool, str]:
    """Launch the example in a lane; return whether it succeeded, and what was printed."""
    first_port = 20000 + PORTS_OF_A_LANE * lane
    parameters = {
        "script_args": ["--override", f"training.steps={steps}"],
        "launch_experiments_dir": str(home / "experiments"),
        "launch_workdir": str(home / "work") + "/{{ inventory_hostname }}",
        "launch_port_range": f"{first_port}-{first_port + PORTS_OF_A_LANE - 1}",
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "launch.yml", "-e", json.dumps(parameters)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode == 0 and "  succeeded · 4 ranks on 2 nodes · " in done.stdout, done.stdout


def play(number: int, lanes: SimpleQueue[int], args: argparse.Namespace, directory: Path) -> Round:
    """Launch once in a lane that is free; keep what a failed launch left."""
    lane = lanes.get()
    home = directory / f"lane{lane}"
    begun = time.monotonic()
    succeeded, output = launch(home, lane, args.steps)
    seconds = time.monotonic() - begun
    if not succeeded:
        kept = args.failures / f"round{number}"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "output.txt").write_text(output)
        if (home / "experiments" / "latest").exists():
            shutil.copytree((home / "experiments" / "latest").resolve(), kept / "experiment", dirs_exist_ok=True)
    lanes.put(lane)
    print(f"round {number}: {'succeeded' if succeeded else 'FAILED'} in {seconds:.0f} s", flush=True)
    return Round(number, succeeded, seconds)


def main() -> None:
    """Launch, count, and exit with an error if one launch failed."""
    parser = argparse.ArgumentParser(description="Count the launches of the example that succeed on a busy machine.")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--failures", type=Path, default=ROOT / ".cache" / "launch_rounds")
    args = parser.parse_args()
    lanes: SimpleQueue[int] = SimpleQueue()
    for lane in range(args.at_once):
        lanes.put(lane)
    with tempfile.TemporaryDirectory(prefix="muster-rounds-") as name, ThreadPoolExecutor(args.at_once) as pool:
        rounds = list(pool.map(lambda number: play(number, lanes, args, Path(name)), range(1, args.rounds + 1)))
    failed = [played.number for played in rounds if not played.succeeded]
    median = statistics.median(played.seconds for played in rounds)
    count = f"{len(rounds) - len(failed)} of {len(rounds)}"
    print(f"{count} launches of {args.steps} steps succeeded, {args.at_once} at once; median {median:.0f} s")
    if failed:
        raise SystemExit(f"failed: {', '.join(map(str, failed))}; see {args.failures}")


if __name__ == "__main__":
    main()
