# SPDX-License-Identifier: GPL-3.0-or-later
"""What trainers print, line by line, and what only looks like it."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.lightning import parse_csv
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.registry import (
    FORMATS,
    WORDS,
    is_candidate,
    without_controls,
)

PREFIX = "[2026-11-25 00:28:36,538] [INFO] "
# Programs of ours printed these, with the versions in requirements-workloads.txt and Keras 3.15.1 (torch backend).
PRINTED = [
    (
        "huggingface",
        "{'loss': '3.882', 'grad_norm': '1.107', 'learning_rate': '4.167e-05', 'epoch': '0.0625'}",
        Progress(loss=3.882),
    ),
    (
        "tqdm",
        " 33%|███▎      | 2/6 [00:00<00:00,  8.95it/s]",
        Progress(step=2, total_steps=6, steps_per_s=8.95),
    ),
    ("tqdm", "  0%|          | 0/6 [00:00<?, ?it/s][transformers] `loss_type=None`", Progress(step=0, total_steps=6)),
    (
        "lightning",
        "Epoch 1:  94%|█████████▍| 15/16 [00:00<00:00, 243.90it/s, v_num=1, train_loss=1.41e-5, val_loss=0.00559]",
        Progress(step=31, loss=1.41e-5, steps_per_s=243.9),
    ),
    (
        "lightning",
        "Epoch 2/2  ━━━━━━━━━━━━━━━━ 16/16 0:00:00 • 0:00:00 102.90it/s v_num: 0.000     ",
        Progress(step=48, total_steps=48, steps_per_s=102.9),
    ),
    (
        "deepspeed",
        f"{PREFIX}[logging.py:123:log_dist] [Rank 0] step=4, skipped=0, lr=[0.01], mom=[(0.9, 0.999)]",
        Progress(step=4),
    ),
    (
        "deepspeed",
        f"{PREFIX}[timer.py:264:stop] epoch=0/micro_step=4/global_step=4, RunningAvgSamplesPerSec=1980.5, "
        "CurrSamplesPerSec=1975.6043490547056, MemAllocated=0.43GB, MaxMemAllocated=0.43GB",
        Progress(step=4, samples_per_s=1980.5),
    ),
    (
        "keras",
        "\x1b[1m20/48\x1b[0m \x1b[32m━━━\x1b[0m\x1b[37m━━━\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - loss: 2.8417\x08\x08",
        Progress(step=20, total_steps=48, loss=2.8417, steps_per_s=250.0),
    ),
    (
        "keras",
        "64/64 - 0s - 4ms/step - loss: 0.0609",
        Progress(step=64, total_steps=64, loss=0.0609, steps_per_s=250.0),
    ),
]
# As the sources of these format them: torchtitan (0.3.0) and Megatron-LM need a GPU, nanoGPT is not packaged.
DOCUMENTED = [
    (
        "huggingface",
        "{'loss': '1.946', 'grad_norm': '0.41', 'learning_rate': '5e-05', 'entropy': '1.94', 'num_tokens': '88', "
        "'mean_token_accuracy': '0.2', 'epoch': '0.03125'}",
        Progress(loss=1.946),
    ),
    (
        "torchtitan",
        "[rank0]:[titan] 2026-11-25 00:00:00,000 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.12340  "
        "\x1b[38;2;180;60;0mgrad_norm:  1.2000  \x1b[36mmemory:  0.50GiB(1.20%)  \x1b[34mtps: 1,234  "
        "\x1b[36mtflops: 0.10  \x1b[35mmfu: 0.10%\x1b[39m",
        Progress(step=10, loss=8.1234, tokens_per_s=1234.0),
    ),
    (
        "megatron",
        " [2026-11-25 00:00:00] iteration       10/     100 | consumed samples:          640 | elapsed time per "
        "iteration (ms): 500.0 | throughput per GPU (TFLOP/s/GPU): 1.2 | learning rate: 1.500000E-04 | global batch "
        "size:    64 | lm loss: 1.012300E+01 | loss scale: 1.0 | grad norm: 2.345 | number of nan iterations:   0 |",
        Progress(step=10, total_steps=100, loss=10.123, samples_per_s=128.0, steps_per_s=2.0),
    ),
    ("nanogpt", "iter 10: loss 2.3000, time 25.00ms, mfu 1.00%", Progress(step=10, loss=2.3, steps_per_s=40.0)),
    ("nanogpt", "step 250: train loss 1.9123, val loss 2.1000", Progress(step=250, loss=1.9123)),
    (
        "keras",
        " 123/1875 [=>............................] - ETA: 5s - loss: 0.5000",
        Progress(step=123, total_steps=1875, loss=0.5),
    ),
]
NEAR_MISSES = [
    "loss of connection to node 3",
    "step 3 of the installation",
    "step=3 of the installation, skipped=nothing",
    "packet loss: 3 %",
    "{'eval_loss': '3.9', 'eval_runtime': '0.1', 'epoch': '0.0625'}",
    "{'train_runtime': '0.7', 'train_samples_per_second': '16.3', 'train_loss': '3.9', 'epoch': '0.1875'}",
    "config = {'loss': 'mse', 'epoch': 3}",
    "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 34.10it/s]",
    "Validation DataLoader 0:   6%|▋         | 1/16 [00:00<00:00, 81.44it/s]",
    "model.safetensors:  50%|█████     | 5/10 [00:01<00:01, 5.00MB/s]",
    "Map:  50%|█████     | 5/10 [00:01<00:01, 5.00it/s]",
    "\x1b[33mvalidate step: 10  \x1b[32mloss:  8.1234  \x1b[36mmemory:  0.50GiB(1.20%)  \x1b[34mtps: 1,234\x1b[39m",
    " validation loss at iteration 10 on test set | lm loss value: 1.0E+01 | lm loss PPL: 2.2E+04 |",
    "Epoch 3 begins",
    "1/2 of the files are read - loss: 3",
    "the loss at step=5 was 3, see iter 5: loss 2",
]


@pytest.mark.parametrize(("name", "line", "progress"), [*PRINTED, *DOCUMENTED])
def test_a_line_of_a_trainer(name: str, line: str, progress: Progress) -> None:
    assert is_candidate(line)
    assert any(word in line.encode() for word in WORDS)
    text = without_controls(line)
    parsed = [(kind.name, kind.parse(text)) for kind in FORMATS if kind.word in text]
    assert [item for item in parsed if item[1] is not None] == [(name, progress)]


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_line_of_none(line: str) -> None:
    text = without_controls(line)
    assert [kind.name for kind in FORMATS if kind.word in text and kind.parse(text) is not None] == []


def test_a_loss_that_is_not_a_number() -> None:
    (kind,) = (kind for kind in FORMATS if kind.name == "huggingface")
    progress = kind.parse("{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.1, 'epoch': 0.5}")
    assert progress is not None and progress.loss is not None and progress.loss != progress.loss


def test_the_file_of_lightnings_csv_logger() -> None:
    # Lightning 2.6.6; the validation's rows have no loss of the training, and the last one is half written.
    rows = "0,11,0.1534947156906128,\n0,15,0.024085041135549545,\n0,15,,0.003716409672051668\n1,19,0.001"
    assert parse_csv("epoch,step,train_loss,val_loss", rows) == Progress(step=16, loss=0.024085041135549545)
    assert parse_csv("epoch,accuracy", "1,2\n") is None
    assert parse_csv("step,loss", "one,two\n") is None
