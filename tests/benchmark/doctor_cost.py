# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds and peak memory of `doctor` on a large log: steps of a training, NCCL's own lines, and some that are known.

usage: python tests/benchmark/doctor_cost.py [--mib N] [--known N]    (of a million lines, so many are known ones)
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.scan import Scanner
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.signature import load

MIB = 1 << 20


def line(chance: random.Random, known: int) -> str:
    """Return a line of a rank's log."""
    stamp = f"2026-11-20T14:30:{chance.randrange(60):02d}.{chance.randrange(1000):03d}Z"
    step, rank = chance.randrange(10**6), chance.randrange(512)
    if chance.randrange(10**6) < known:
        return f"{stamp} [rank{rank}]: {chance.choice(load()).example}\n"
    if chance.random() < 0.3:
        return (
            f"{stamp} node0:{rank}:{step} [3] NCCL INFO Channel 00/0 : {rank}[0] -> 1[0] [send] via NET/IB/4/GDRDMA\n"
        )
    return f"{stamp} step {step} loss {chance.random():.4f} tokens/s {step} grad_norm {chance.random():.3f} lr 0.0003\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=100)
    parser.add_argument("--known", type=int, default=1000)
    args = parser.parse_args()
    chance = random.Random(1)
    part = "".join(line(chance, args.known) for _line in range(50_000)).encode()
    with tempfile.TemporaryFile() as log:
        while log.tell() < args.mib * MIB:
            log.write(part)
        size = log.tell()
        log.seek(0)
        began = time.perf_counter()
        scanner = Scanner(load())
        loaded = time.perf_counter()
        sightings = scanner.scan(log)
        seconds = time.perf_counter() - loaded
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size / MIB:.0f} MiB in {seconds:.2f} s, {size / 1e6 / seconds:.0f} MB/s; catalog {loaded - began:.3f} s; "
        f"{sum(sighting.count for sighting in sightings)} known lines; peak {peak:.0f} MiB"
    )


if __name__ == "__main__":
    main()
