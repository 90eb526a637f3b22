# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank without a GPU that logs what NCCL would, to the file that NCCL would take, and then makes steps.

usage: witness.py [--network IB|Socket] [--on-rank R] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", default="IB")
    parser.add_argument("--on-rank", type=int, default=-1)
    parser.add_argument("--seconds", type=float, default=600.0)
    args = parser.parse_args()
    rank, size, pid = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.getpid()
    network = args.network if args.on_rank in (-1, rank) else "IB"
    path = os.environ["NCCL_DEBUG_FILE"].replace("%h", "host").replace("%p", str(pid))
    with open(path, "w") as log:
        for message in messages(rank, size, network):
            print(f"host{rank}:{pid}:{pid + 1} [0] NCCL INFO {message}", file=log, flush=True)
    ends_at = time.monotonic() + args.seconds
    with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], f"rank_{rank:02d}_metrics.jsonl"), "a") as metrics:
        step = 0
        while time.monotonic() < ends_at:
            step += 1
            print(json.dumps({"rank": rank, "step": step, "loss": 5.0 / step}), file=metrics, flush=True)
            time.sleep(0.2)


def messages(rank: int, size: int, network: str) -> Iterator[str]:
    with open(os.path.join(os.environ["MUSTER_RUN_DIR"], "job.json")) as stream:
        job = json.load(stream)
    hcas = job["transport"]["hcas"]
    yield "NCCL version 2.21.5+cuda12.4"
    for item in job["environment"]:
        if item["name"].startswith("NCCL_") and not item["name"].startswith("NCCL_DEBUG"):
            yield f"{item['name']} set by environment to {item['value']}"
    if network == "Socket":
        yield "NET/IB : No device found."
        yield "NET/Socket : Using [0]eth0:10.0.0.1<0>"
    else:
        opened = " ".join(f"[{number}]{name}:1/IB" for number, name in enumerate(hcas))
        yield f"NET/IB : Using {opened} [RO]; OOB eth0:10.0.0.1<0>"
    yield f"Using network {network}"
    yield f"comm 0x1 rank {rank} nranks {size} cudaDev 0 busId 1b000 - Init COMPLETE"
    way = "NET/Socket/0" if network == "Socket" else "NET/IB/0/GDRDMA"
    peer = (rank + 1) % size
    yield f"Channel 00/0 : {peer}[0] -> {rank}[0] [receive] via {way}"
    yield f"Channel 00/0 : {rank}[0] -> {peer}[0] [send] via {way}"


if __name__ == "__main__":
    main()
