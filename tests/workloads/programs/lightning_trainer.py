# SPDX-License-Identifier: GPL-3.0-or-later
"""Train with Lightning's Trainer, which logs into its default directory."""

from __future__ import annotations

import argparse

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    """One linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: list[torch.Tensor], _number: int) -> torch.Tensor:
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int)
parser.add_argument("--num-nodes", type=int)
args = parser.parse_args()
inputs = torch.randn(64, 4)
data = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=4)
trainer = lightning.Trainer(
    accelerator="cpu",
    strategy="ddp",
    devices=args.devices,
    num_nodes=args.num_nodes,
    max_epochs=1,
    log_every_n_steps=1,
    enable_progress_bar=False,
)
trainer.fit(Regression(), data)
steps, loss = trainer.global_step, trainer.callback_metrics["loss"]
print(f"rank {trainer.global_rank} of {trainer.world_size}, step {steps}, last loss {loss:.6f}", flush=True)
