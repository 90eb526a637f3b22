# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that call all_reduce: then one of them leaves (--leaves), calls another collective (--differs), stops itself
(--stops), or calls those of two groups in another order (--swaps); or it computes before each call (--computes)."""

from __future__ import annotations

import argparse
import os
import signal
import time

import torch
import torch.distributed as dist


def leave() -> None:
    time.sleep(600)


def compute(seconds: float) -> None:
    """Be busy in one place, and print nothing."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("leaves", "differs", "stops", "swaps", "computes"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--after", type=int, required=True, help="calls that all ranks make")
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    dist.barrier()
    for _number in range(args.after):
        if rank == args.computes:
            compute(args.seconds)
        dist.all_reduce(torch.ones(1))
    if rank == args.leaves:
        leave()
    if rank == args.stops:
        os.kill(os.getpid(), signal.SIGSTOP)
    if args.swaps is not None:
        groups = [dist.new_group([0, args.swaps]), dist.new_group([0, args.swaps])]
        for group in [*groups, *(groups[::-1] if rank == args.swaps else groups)] if rank in (0, args.swaps) else []:
            dist.all_reduce(torch.ones(1), group=group)
    if rank == args.differs:
        dist.broadcast(torch.ones(1), 0)
    elif args.computes is None:
        dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
