# SPDX-License-Identifier: GPL-3.0-or-later
"""Train a tiny GPT-2 with the Trainer of transformers, which takes all of its arguments from the command line."""

from __future__ import annotations

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments


class Tokens(Dataset):
    """Random tokens."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
config = GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2)
trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Tokens())
trainer.train()
steps = trainer.state.global_step
print(f"rank {arguments.process_index} of {arguments.world_size}, step {steps}", flush=True)
# PyTorch aborts a rank now and then that exits with its process group.
trainer.accelerator.end_training()
