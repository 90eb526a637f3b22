# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that wait for one that does not come: it exits early (--exits RANK), or it hangs (--hangs RANK)."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--exits", type=int)
parser.add_argument("--hangs", type=int)
args = parser.parse_args()
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=timedelta(seconds=5))
dist.barrier()
if rank == args.exits:
    raise SystemExit
if rank == args.hangs:
    time.sleep(600)
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
