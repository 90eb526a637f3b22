# SPDX-License-Identifier: GPL-3.0-or-later
"""Train with Lightning Fabric."""

from __future__ import annotations

import argparse

import torch
from lightning.fabric import Fabric

STEPS = 5

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int)
parser.add_argument("--num-nodes", type=int)
parser.add_argument("--checkpoints")
args = parser.parse_args()
fabric = Fabric(accelerator="cpu", strategy="ddp", devices=args.devices, num_nodes=args.num_nodes)
fabric.launch()
module = torch.nn.Linear(4, 1)
model, optimizer = fabric.setup(module, torch.optim.SGD(module.parameters(), lr=0.1))
for _step in range(STEPS):
    inputs = torch.randn(4, 4)
    loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
total = fabric.all_reduce(torch.ones(1), reduce_op="sum")
fabric.save(f"{args.checkpoints}/last.ckpt", {"model": model})
print(f"rank {fabric.global_rank} of {int(total)}, step {STEPS}", flush=True)
# PyTorch aborts a rank now and then that exits with its process group.
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
