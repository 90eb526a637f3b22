# SPDX-License-Identifier: GPL-3.0-or-later
"""Train with Accelerate, and go on from the last checkpoint; at first, fail in rank 3 or wait after a step."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--checkpoints", type=Path)
parser.add_argument("--fail", type=int)
parser.add_argument("--wait", type=int)
args = parser.parse_args()
accelerator = Accelerator()
module = torch.nn.Linear(4, 1)
model, optimizer = accelerator.prepare(module, torch.optim.AdamW(module.parameters(), lr=0.01))
folder = args.checkpoints / "checkpoint"
counter = folder / "step"
first = int(counter.read_text()) if counter.exists() else 0
if first:
    accelerator.load_state(str(folder))
fsdp = f"FSDP {os.environ.get('ACCELERATE_USE_FSDP')} {os.environ.get('FSDP_VERSION')}"
print(f"{accelerator.distributed_type}, {accelerator.mixed_precision}, {fsdp}, first step {first}", flush=True)
for step in range(first, 6):
    inputs = torch.randn(4, 4)
    loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.save_state(str(folder))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        counter.write_text(str(step + 1))
    accelerator.wait_for_everyone()
    if step + 1 == args.fail and first == 0 and accelerator.process_index == 3:
        raise ValueError(f"step {step + 1}")
    if step + 1 == args.wait and first == 0:
        (args.checkpoints / f"waits_{accelerator.process_index}").touch()
        time.sleep(600)
print(f"rank {accelerator.process_index} of {accelerator.num_processes}, step {step + 1}", flush=True)
accelerator.end_training()
