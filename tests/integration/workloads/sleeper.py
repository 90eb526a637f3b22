# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that trains nothing: writes metrics, sleeps, and ends as it is told to.

usage: sleeper.py [--seconds S] [--until FILE] [--fail-rank R --how exit7|segv] [--deaf]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--until")
    parser.add_argument("--fail-rank", type=int)
    parser.add_argument("--how", choices=["exit7", "segv"])
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--config")
    args = parser.parse_args()
    if args.deaf:
        signal.signal(signal.SIGTERM, ignore)
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    print(f"rank {rank} of {world_size} begins", flush=True)
    steps = max(1, int(args.seconds / 0.1))
    with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], f"rank_{rank:02d}_metrics.jsonl"), "a") as metrics:
        for step in range(1, steps + 1):
            record = {"rank": rank, "world_size": world_size, "step": step, "total_steps": steps, "loss": 5.0 / step}
            print(json.dumps({**record, "tokens_per_s": 10.0}), file=metrics, flush=True)
            time.sleep(0.1)
            if step == 5 and rank == args.fail_rank:
                fail(args.how)
            if args.until and os.path.exists(args.until):
                break
    print(f"rank {rank} ends", flush=True)


def ignore(_number: int, _frame: object) -> None:
    with contextlib.suppress(OSError):  # a dead runner does not read the pipe
        os.write(1, b"deaf to SIGTERM\n")


def fail(how: str) -> None:
    if how == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    raise SystemExit(7)


if __name__ == "__main__":
    main()
