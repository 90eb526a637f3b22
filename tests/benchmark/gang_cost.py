# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gang costs a training: tokens per second with runners and without, and the CPU of runners that only wait.

usage: python tests/benchmark/gang_cost.py [--rounds 6] [--steps 300] [--idle 20]

Both sides are the same torchrun commands with examples/tiny_gpt, two nodes on this machine, in turns. Prints each
round, then the median of the rounds' ratios, and the share of a core that the runner of the head and of another node
take while their ranks sleep. Aims: 0.99, 1 %, 0.2 %.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.tests.faults import gangs, torchrun
from ansible_collections.muster.train.tests.support.gang import Running, make_gang

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tiny_gpt" / "train.py"
# Of the records of a training, so many at its beginning are warming up.
WARM = 3
PATIENCE_S = 600.0
SLEEP = [sys.executable, "-c", "import time; time.sleep(3600)"]
TICKS = os.sysconf("SC_CLK_TCK")


def arguments(steps: int) -> list[str]:
    overrides = [f"training.steps={steps}", "training.log_every=2", f"training.checkpoint_every={10 * steps}"]
    return [word for override in overrides for word in ("--override", override)]


def speed(outputs: Path) -> float:
    """Return the median of the tokens per second that rank 0 wrote."""
    lines = (outputs / "rank_00_metrics.jsonl").read_text().splitlines()
    return statistics.median(float(json.loads(line)["tokens_per_s"]) for line in lines[WARM:])


def with_gang(home: Path, steps: int) -> float:
    """Train with a runner above each torchrun."""
    running = torchrun.make(home, str(EXAMPLE), arguments(steps), nproc=1)
    with gangs.started(running):
        codes = running.codes(PATIENCE_S)
    if any(codes):
        raise SystemExit(f"with the gang: exit codes {codes}: {running.state(0).get('why')}")
    return speed(Path(running.jobs[0].output_dir))


def without(home: Path, steps: int) -> float:
    """Train with the same commands by hand."""
    running = torchrun.make(home, str(EXAMPLE), arguments(steps), nproc=1)
    nodes = []
    for job in running.jobs:
        # The launcher file belongs to the runner: torch's own, with the same options.
        argv = [sys.executable, "-m", "torch.distributed.run", *job.argv[2:]]
        place = f"{job.rendezvous.address}:{job.rendezvous.port}"
        variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PET_RDZV_ENDPOINT": place,
            "PET_NODE_RANK": str(job.node_rank),
        }
        environment = {**variables, **{item.name: item.value for item in job.environment}}
        os.makedirs(job.output_dir, exist_ok=True)
        nodes.append(
            subprocess.Popen(
                argv, env=environment, cwd=job.code_dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
    codes = [node.wait(PATIENCE_S) for node in nodes]
    if any(codes):
        raise SystemExit(f"by hand: exit codes {codes}")
    return speed(Path(running.jobs[0].output_dir))


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def idle_shares(home: Path, seconds: float) -> list[float]:
    """Return the share of a core, in percent, that each runner takes while its ranks sleep; the head's first."""
    running = Running(make_gang(home, [SLEEP, SLEEP]))
    with gangs.started(running):
        running.wait_phase("running")
        time.sleep(2.0)
        before = {rank: cpu_s(runner.pid) for rank, runner in running.runners.items()}
        time.sleep(seconds)
        return [100 * (cpu_s(runner.pid) - before[rank]) / seconds for rank, runner in running.runners.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--idle", type=float, default=20.0)
    options = parser.parse_args()
    ratios = []
    for number in range(options.rounds):
        rates = {}
        ways = [with_gang, without]
        # What comes first finds another machine than what comes second.
        for way in ways if number % 2 else reversed(ways):
            with tempfile.TemporaryDirectory(prefix="muster-bench-") as home:
                rates[way] = way(Path(home), options.steps)
        ratios.append(rates[with_gang] / rates[without])
        text = f"with {rates[with_gang]:8.0f} tokens/s   without {rates[without]:8.0f} tokens/s"
        print(f"round {number + 1}  {text}   ratio {ratios[-1]:.3f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as home:
        head, member = idle_shares(Path(home), options.idle)
    print(f"ratio {statistics.median(ratios):.3f}; idle: head {head:.2f} %, member {member:.2f} % of a core")


if __name__ == "__main__":
    main()
