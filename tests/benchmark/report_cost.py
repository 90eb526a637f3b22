# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of a run costs: time, memory, and the size of its page.

With 64 ranks and 10,000 steps it should take less than 10 s and 500 MB, and the page less than 3 MB.

usage: python tests/benchmark/report_cost.py [--ranks 64] [--steps 10000]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.plugin_utils._verbs import report
from ansible_collections.muster.train.tests.support.report_parts import line, text_of, write_experiment
from ansible_collections.muster.train.tests.support.verbs import play_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = write_experiment(Path(folder), world_size=args.ranks)
        size = 0
        for rank in range(args.ranks):
            text = text_of(
                line(rank, step, world_size=args.ranks, lr=1.5e-4, step_ms=100 + (rank * 7 + step * 13) % 11 / 7)
                for step in range(1, args.steps + 1)
            )
            size += (home / "outputs" / f"rank_{rank:02d}_metrics.jsonl").write_text(text)
        before = peak_mib()
        began, cpu = time.monotonic(), time.process_time()
        concluded = report.write.conclusion(play_of("report", {}, run_id=home.name, experiments=folder))
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    page = next(file for file in concluded.files if file.path.suffix == ".html")
    print(
        f"{args.ranks} ranks x {args.steps} steps, {size >> 20} MiB of metrics: {seconds:.1f} s, "
        f"{cpu:.1f} s of CPU, peak {peak_mib()} MiB ({before} before), a page of {len(page.text.encode()) / 1e6:.2f} MB"
        f"; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def peak_mib() -> int:
    """Return the peak of this process's memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
