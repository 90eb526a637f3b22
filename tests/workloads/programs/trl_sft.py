# SPDX-License-Identifier: GPL-3.0-or-later
"""Fine-tune a tiny GPT-2 with the SFTTrainer of trl."""

from __future__ import annotations

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

WORDS = ["<pad>", "<end>", "one", "node", "meets", "another"]

(arguments,) = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()
tokens = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<end>"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", eos_token="<end>")
config = GPT2Config(vocab_size=len(WORDS), n_positions=32, n_embd=16, n_layer=1, n_head=2, pad_token_id=0)
trainer = SFTTrainer(
    model=GPT2LMHeadModel(config),
    args=arguments,
    train_dataset=Dataset.from_dict({"text": ["one node meets another node"] * 64}),
    processing_class=tokenizer,
)
trainer.train()
steps = trainer.state.global_step
print(f"rank {arguments.process_index} of {arguments.world_size}, step {steps}", flush=True)
# PyTorch aborts a rank now and then that exits with its process group.
trainer.accelerator.end_training()
