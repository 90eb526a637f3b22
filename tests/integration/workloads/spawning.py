# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts its ranks itself, as Lightning does: they meet over all nodes, and one of them may fail."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

STEPS = 3


def work(local_rank: int, workers: int, fail_rank: int | None) -> None:
    """Be one rank: its number follows from the node's, as the launcher gives it."""
    rank, world_size = int(os.environ["NODE_RANK"]) * workers + local_rank, int(os.environ["NNODES"]) * workers
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    path = Path(os.environ["MUSTER_OUTPUT_DIR"], f"rank_{rank:02d}_metrics.jsonl")
    for step in range(1, STEPS + 1):
        total = torch.ones(1)
        dist.all_reduce(total)
        with path.open("a") as stream:
            stream.write(json.dumps({"rank": rank, "step": step, "total": total.item()}) + "\n")
        if rank == fail_rank:
            raise ValueError("the loss is not a number")
        if fail_rank is not None:
            time.sleep(60)  # a peer would fail too, and torch.multiprocessing names whichever exits first
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=int(os.environ["NPROC_PER_NODE"]))
    parser.add_argument("--fail-rank", type=int)
    given = parser.parse_args()
    assert not {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"} & os.environ.keys()
    spawning: Any = importlib.import_module("torch.multiprocessing")
    spawning.spawn(work, args=(given.workers, given.fail_rank), nprocs=given.workers)
