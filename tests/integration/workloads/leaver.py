# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that call all_reduce: one of them leaves after some calls (--leaves), or computes before each (--computes)."""

from __future__ import annotations

import argparse
import os
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
    parser.add_argument("--leaves", type=int)
    parser.add_argument("--computes", type=int)
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
    if args.leaves is not None:
        dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
