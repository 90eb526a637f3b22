# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program of `benchmark` measures, beside plain torch code in the same process group, by turns.

usage: python tests/benchmark/collective_bandwidth.py [--ranks 2] [--rounds 7] [SIZE...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

import torch
import torch.distributed as dist

from ansible_collections.muster.train.plugins.module_utils.runner.attempt import collectives
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.definitions import FACTORS, bus_bandwidth

ITERATIONS, WARMUP = 20, 5


def plain(name: str, size: int) -> Callable[[], object]:
    """Return plain torch code for a collective of float32."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    whole, other, part = torch.ones(size // 4), torch.ones(size // 4), torch.ones(size // 4 // ranks)
    all_gather = collectives.newest(dist, "all_gather_single", "all_gather_into_tensor")
    reduce_scatter = collectives.newest(dist, "reduce_scatter_single", "reduce_scatter_tensor")

    def exchange() -> None:
        sent = dist.isend(whole, (rank + 1) % ranks)
        dist.recv(other, (rank - 1) % ranks)
        assert sent is not None
        sent.wait()

    return {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: all_gather(whole, part),
        "reduce_scatter": lambda: reduce_scatter(part, whole),
        "broadcast": lambda: dist.broadcast(whole, 0),
        "all_to_all": lambda: dist.all_to_all_single(other, whole),
        "send_recv": exchange,
    }[name]


def by_plain_code(name: str, size: int) -> float:
    """Return seconds of one run, averaged over the ranks."""
    run = plain(name, size)
    for _call in range(WARMUP):
        run()
    dist.barrier()
    begun = time.perf_counter()
    for _call in range(ITERATIONS):
        run()
    seconds = torch.tensor((time.perf_counter() - begun) / ITERATIONS)
    dist.all_reduce(seconds)
    return float(seconds) / dist.get_world_size()


def by_benchmark(name: str, size: int) -> float:
    """Return the same by the program of the verb."""
    ranks = list(range(dist.get_world_size()))
    collective = collectives.GroupCollective(torch, name, dist.group.WORLD, ranks, dist.get_rank())
    count = collectives.count_of(name, size, 4, len(ranks))
    collective.allocate(count, torch.float32, "cpu")
    options = argparse.Namespace(check=True, warmup=WARMUP, iterations=ITERATIONS)
    mean, *_others, wrong = collectives.measure(collective, count, options, collectives.IterationClock(torch, False))
    assert wrong == 0
    return mean


def compare(sizes: Sequence[int], rounds: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in FACTORS:
        for size in sizes:
            ways = (by_plain_code, by_benchmark)
            # The other one first in every second round.
            taken = [{way: way(name, size) for way in ways[:: 1 - 2 * (number % 2)]} for number in range(rounds)]
            # The fastest round is the one that other programs disturbed least.
            plain_s, benchmark_s = (min(times[way] for times in taken) for way in ways)
            rates = [bus_bandwidth(name, dist.get_world_size(), size, seconds) for seconds in (plain_s, benchmark_s)]
            paired = statistics.median(times[ways[0]] / times[ways[1]] for times in taken)
            if dist.get_rank() == 0:
                print(
                    f"{name:15} {size:>10} B  plain {rates[0]:.3f} GB/s  benchmark {rates[1]:.3f} GB/s  "
                    f"{rates[1] / rates[0]:.3f} (best of {rounds} rounds; median of the rounds' ratios {paired:.3f})",
                    flush=True,
                )
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("sizes", type=int, nargs="*", default=[65536, 1 << 20, 16 << 20])
    given = parser.parse_args()
    if "RANK" in os.environ:
        return compare(given.sizes, given.rounds)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={given.ranks}"]
    command += [__file__, f"--rounds={given.rounds}", *map(str, given.sizes)]
    raise SystemExit(subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False).returncode)


if __name__ == "__main__":
    main()
