# SPDX-License-Identifier: GPL-3.0-or-later
"""Train with DeepSpeed, and go on from the last checkpoint; at first, fail in rank 3 or wait after a step."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import deepspeed
import torch

parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--local_rank", type=int)
parser.add_argument("--checkpoints")
parser.add_argument("--fail", type=int)
parser.add_argument("--wait", type=int)
args = parser.parse_args()
deepspeed.init_distributed(dist_backend="gloo")
module = torch.nn.Linear(4, 1)
engine, _optimizer, _data, _scheduler = deepspeed.initialize(
    args=args, model=module, optimizer=torch.optim.AdamW(module.parameters(), lr=0.01)
)
engine.load_checkpoint(args.checkpoints)
first = engine.global_steps
node, nnodes, nproc = (os.environ[name] for name in ("CROSS_RANK", "CROSS_SIZE", "LOCAL_SIZE"))
place = f"local rank {args.local_rank}, node {node} of {nnodes}, {nproc} ranks"
print(f"{place}, first step {first}", flush=True)
while engine.global_steps < 6:
    inputs = torch.randn(4, 4)
    loss = torch.nn.functional.mse_loss(engine(inputs), inputs.sum(dim=1, keepdim=True))
    engine.backward(loss)
    engine.step()
    engine.save_checkpoint(args.checkpoints)
    rank, step = deepspeed.comm.get_rank(), engine.global_steps
    if step == args.fail and first == 0 and rank == 3:
        raise ValueError(f"step {step}")
    if step == args.wait and first == 0:
        Path(args.checkpoints, f"waits_{rank}").touch()
        time.sleep(600)
print(f"rank {deepspeed.comm.get_rank()} of {deepspeed.comm.get_world_size()}, step {engine.global_steps}", flush=True)
deepspeed.comm.destroy_process_group()
