# SPDX-License-Identifier: GPL-3.0-or-later
"""Train with DeepSpeed as its configuration says, which shards the state of the optimizer."""

from __future__ import annotations

import argparse
import logging

import deepspeed
import torch
from deepspeed.utils.logging import logger

parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--checkpoints")
args = parser.parse_args()
# By default DeepSpeed prints warnings only.
for level in (logger, *logger.handlers):
    level.setLevel(logging.INFO)
deepspeed.init_distributed(dist_backend="gloo")
module = torch.nn.Linear(4, 1)
engine, _optimizer, _data, _scheduler = deepspeed.initialize(
    args=args, model=module, optimizer=torch.optim.AdamW(module.parameters(), lr=0.01)
)
for _step in range(5):
    inputs = torch.randn(4, 4)
    loss = torch.nn.functional.mse_loss(engine(inputs), inputs.sum(dim=1, keepdim=True))
    engine.backward(loss)
    engine.step()
    print(f"batch {engine.global_steps} mse {loss.item():.6f}", flush=True)
world_size = deepspeed.comm.get_world_size()
print(f"rank {deepspeed.comm.get_rank()} of {world_size}, step {engine.global_steps}", flush=True)
print(f"ZeRO stage {engine.zero_optimization_stage()}", flush=True)
deepspeed.comm.destroy_process_group()
