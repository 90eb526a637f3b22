# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that really meet (gloo); one of them raises under @record, and the others lose their peer."""

from __future__ import annotations

import argparse
import atexit
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail-rank", type=int, required=True)
    parser.add_argument("--slowly", action="store_true", help="the others exit before the rank that failed")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    for step in range(10_000):
        dist.all_reduce(torch.ones(1))
        if step == 100 and dist.get_rank() == args.fail_rank:
            if args.slowly:
                atexit.register(time.sleep, 300)
            raise ValueError("the loss is not a number")
        if step == 100 and args.slowly:
            time.sleep(5)
            raise RuntimeError("gloo: Connection closed by peer")


if __name__ == "__main__":
    main()
