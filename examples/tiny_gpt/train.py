# SPDX-License-Identifier: GPL-3.0-or-later
"""Train a small language model on the bytes of a text: the example of a script that Muster launches.

It runs alone (`python train.py`), under torchrun, or as one of many ranks whose RANK, WORLD_SIZE, LOCAL_RANK,
MASTER_ADDR and MASTER_PORT are in the environment. Nothing in it needs Muster. README.md says what to copy.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import os
import shutil
import signal
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import yaml
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW, Optimizer

RANK, WORLD_SIZE = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))


def say(text: str) -> None:
    if RANK == 0:
        print(text, flush=True)


@dataclass
class Model:
    layers: int = 2
    heads: int = 4
    width: int = 96
    context: int = 64


@dataclass
class Training:
    output_dir: str = os.environ.get("MUSTER_OUTPUT_DIR", "outputs")
    data: str = str(Path(__file__).with_name("text.txt"))
    parallel: str = "ddp"  # ddp: every rank holds the whole model; fsdp: the ranks share it
    steps: int = 120
    batch_size: int = 16  # sequences per rank and step
    lr: float = 3e-3
    warmup_steps: int = 20
    clip: float = 1.0
    seed: int = 1
    log_every: int = 5
    checkpoint_every: int = 40


def configure() -> tuple[Model, Training]:
    """Return the defaults, changed by what --config FILE and --override KEY=VALUE say."""
    model, training = Model(), Training()
    parser = argparse.ArgumentParser(description="Train a small language model.")
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML with the sections model and training")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=10")
    arguments = parser.parse_args()
    known = {f"{s}.{name}": (v, name) for s, v in (("model", model), ("training", training)) for name in vars(v)}
    try:
        sections = (yaml.safe_load(arguments.config.read_text()) or {}) if arguments.config else {}
        settings = [(f"{s}.{name}", v) for s, values in sections.items() for name, v in (values or {}).items()]
        settings += [(o.partition("=")[0], yaml.safe_load(o.partition("=")[2])) for o in arguments.override]
        for key, value in settings:
            if key not in known:
                raise ValueError(f"unknown key {key!r}; known are {', '.join(known)}")
            section, name = known[key]
            wanted = type(getattr(section, name))
            if wanted in (float, str) and type(value) in (int, str):  # YAML takes 1 for an int and 1e-3 for a str
                value = wanted(value)
            if value.__class__ is not wanted:
                raise ValueError(f"{key} must be of type {wanted.__name__}, not {value!r}")
            setattr(section, name, value)
        if training.parallel not in ("ddp", "fsdp"):
            raise ValueError(f"training.parallel must be ddp or fsdp, not {training.parallel!r}")
    except (ValueError, AttributeError, OSError, yaml.YAMLError) as error:
        parser.error(str(error))
    return model, training


class TinyGPT(nn.Module):
    """A decoder-only transformer on bytes. Its forward pass returns the loss, so that DDP and FSDP wrap all of it."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        layer = partial(nn.TransformerEncoderLayer, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.tokens = nn.Embedding(256, model.width)
        self.positions = nn.Embedding(model.context, model.width)
        self.blocks = nn.ModuleList(layer(model.width, model.heads, 4 * model.width) for _layer in range(model.layers))
        self.head = nn.Sequential(nn.LayerNorm(model.width), nn.Linear(model.width, 256))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(model.context), persistent=False)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(inputs) + self.positions.weight
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def parallelise(model: TinyGPT, parallel: str, device: torch.device) -> nn.Module:
    if parallel == "ddp":
        return DistributedDataParallel(model)
    mesh = init_device_mesh(device.type, (WORLD_SIZE,))
    for part in [*model.blocks, model]:  # a block is gathered when it is needed, and let go after
        fully_shard(part, mesh=mesh)
    return model


def join() -> torch.device:
    """Meet the other ranks; return this rank's device: a GPU if every rank of the job has one of its own."""
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    # gloo is named because it must be there: by default, a machine with GPUs gets NCCL only.
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", **alone)
    gpus: list[str | None] = [None] * WORLD_SIZE
    has_one = torch.cuda.device_count() > LOCAL_RANK
    dist.all_gather_object(gpus, str(torch.cuda.get_device_properties(LOCAL_RANK).uuid) if has_one else None)
    if None in gpus or len(set(gpus)) < WORLD_SIZE:  # NCCL refuses two ranks on one GPU
        return torch.device("cpu")
    torch.cuda.set_device(LOCAL_RANK)
    return torch.device("cuda", LOCAL_RANK)


def batch(text: Tensor, seed: int, size: int, context: int) -> tuple[Tensor, Tensor]:
    """This rank's share of one step's sequences. All ranks shuffle alike, so no two of them get the same."""
    starts = torch.randperm(len(text) - context, generator=torch.Generator().manual_seed(seed))
    sequences = text[starts[RANK::WORLD_SIZE][:size, None] + torch.arange(context + 1)]
    return sequences[:, :-1], sequences[:, 1:]


# Rank 0 holds the checkpoints, whole: the nodes need not share a directory, and any number of ranks can resume.
WHOLE = state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True)
FROM_RANK_0 = state_dict.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
warnings.filterwarnings("ignore", "torch.distributed is disabled")  # what no_dist=True is told, though it is meant


def complete(folder: Path) -> list[Path]:
    """The checkpoints that may be resumed from, oldest first. One being written has a name in .partial."""
    return sorted((p.parent for p in folder.glob("step_*[0-9]/.metadata")), key=lambda p: int(p.name[5:]))


def save(folder: Path, step: int, model: nn.Module, optimizer: Optimizer) -> None:
    weights, moments = state_dict.get_state_dict(model, optimizer, options=WHOLE)
    if RANK != 0:
        return
    try:
        for abandoned in folder.glob("*.partial"):
            shutil.rmtree(abandoned)
        unfinished = folder / f"step_{step:06d}.partial"
        dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=unfinished, no_dist=True)
        unfinished.rename(unfinished.with_suffix(""))
        for old in complete(folder)[:-2]:
            shutil.rmtree(old.rename(f"{old}.partial"))
    except (OSError, dcp.CheckpointException) as error:  # a full disk costs a checkpoint, not the training
        say(f"step {step}: could not save a checkpoint, going on without: {error}")


def resume(folder: Path, model: nn.Module, optimizer: Optimizer) -> int:
    """Load the newest complete checkpoint into every rank; return its step, 0 without one."""
    newest = [complete(folder)[-1:] if RANK == 0 else []]
    dist.broadcast_object_list(newest)
    if not newest[0]:
        return 0
    weights, moments = state_dict.get_state_dict(model, optimizer, options=WHOLE)
    if RANK == 0:
        dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=newest[0][0], no_dist=True)
    state_dict.set_model_state_dict(model, weights, options=FROM_RANK_0)
    state_dict.set_optimizer_state_dict(model, optimizer, moments, options=FROM_RANK_0)
    say(f"resumed from {newest[0][0]}")
    return int(newest[0][0].name[5:])


def learning_rate(step: int, t: Training) -> float:
    """Linear warm-up, then a cosine down to a tenth."""
    progress = max(0, step - t.warmup_steps) / max(1, t.steps - t.warmup_steps)
    return t.lr * min(1.0, step / max(1, t.warmup_steps)) * (0.55 + 0.45 * math.cos(math.pi * progress))


def train(m: Model, t: Training, device: torch.device) -> None:
    output = Path(t.output_dir)
    output.mkdir(parents=True, exist_ok=True)
    text = torch.frombuffer(bytearray(Path(t.data).read_bytes()), dtype=torch.uint8).long()
    torch.manual_seed(t.seed)
    model = parallelise(TinyGPT(m).to(device), t.parallel, device)
    optimizer = AdamW(model.parameters(), lr=t.lr)
    start = resume(output / "checkpoints", model, optimizer)
    size, backend = sum(p.numel() for p in model.parameters()), "nccl" if device.type == "cuda" else "gloo"
    print(f"rank {RANK} of {WORLD_SIZE} on {device} ({backend}, {t.parallel}), {size:,} parameters", flush=True)

    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    step, first, loss, logged, clock = start, math.nan, math.nan, start, time.perf_counter()
    for step in range(start + 1, t.steps + 1):
        inputs, targets = (part.to(device) for part in batch(text, t.seed + step, t.batch_size, m.context))
        optimizer.param_groups[0]["lr"] = rate = learning_rate(step, t)
        own_loss = model(inputs, targets)
        own_loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), t.clip)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        optimizer.step()
        optimizer.zero_grad()

        # One sum over the ranks gives the mean loss and tells all, at the same step, whether one was asked to stop.
        shared = torch.stack([own_loss.detach(), own_loss.new_tensor(float(len(stop)))])
        dist.all_reduce(shared)
        loss, stops = shared[0].item() / WORLD_SIZE, shared[1].item() > 0
        first = loss if step == start + 1 else first
        last = stops or step == t.steps
        if last or step == start + 1 or step % t.log_every == 0:
            seconds = (time.perf_counter() - clock) / (step - logged)
            speed = WORLD_SIZE * inputs.numel() / seconds
            logged, clock = step, time.perf_counter()
            line = {"rank": RANK, "world_size": WORLD_SIZE, "step": step, "total_steps": t.steps, "loss": loss}
            line |= {"grad_norm": norm.item(), "lr": rate, "step_ms": 1000 * seconds, "tokens_per_s": speed}
            with contextlib.suppress(OSError), (output / f"rank_{RANK:02d}_metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")  # a full disk costs lines, not the training
            say(f"step {step}/{t.steps}  loss {loss:.3f}  {speed:,.0f} tokens/s")
        if last or step % t.checkpoint_every == 0:
            save(output / "checkpoints", step, model, optimizer)
        if stops:
            break
    say(f"left after step {step}: first loss {first:.3f}, last loss {loss:.3f}" if step > start else "nothing to train")


@record  # an exception in any rank becomes the error file from which torchrun and Muster tell who failed first
def main() -> None:
    train(*configure(), join())
    gc.collect()  # DDP is a cycle that holds the group, whose threads can abort a process that leaves while they run
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
