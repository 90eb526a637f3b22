# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/tiny_gpt: real trainings with a tiny model, under torchrun, as bare ranks and alone."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tiny_gpt"
KEYS = ["rank", "world_size", "step", "total_steps", "loss", "grad_norm", "lr", "step_ms", "tokens_per_s"]
TINY = ["model.layers=1", "model.width=32", "model.context=32", "training.log_every=1", "training.warmup_steps=1"]
LIMIT = 300  # to hang, not to be slow beside others
# Runs the script that its arguments name, and prints the names of its threads while it trains and when it is over.
LEAVE = """
import contextlib, pathlib, runpy, sys
import torch.distributed as dist

def show_threads(moment):
    print("threads", moment, end=": ")
    for path in pathlib.Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # one that has just ended
            print(path.read_text().strip(), end=" ")
    print(flush=True)

def all_reduce_and_show(*arguments, **options):
    result = all_reduce(*arguments, **options)
    show_threads("in the training")
    return result

all_reduce, dist.all_reduce = dist.all_reduce, all_reduce_and_show
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
show_threads("at the end")
"""


def command(output: Path, *overrides: str, start: tuple[str, ...] = (sys.executable,)) -> list[str]:
    settings = [*TINY, f"training.output_dir={output}", *overrides]
    return [*start, str(EXAMPLE / "train.py"), *(part for s in settings for part in ("--override", s))]


def environment(**extra: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MUSTER_OUTPUT_DIR")}
    return {**kept, "OMP_NUM_THREADS": "1", **extra}


def run(argv: list[str], **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=environment(**extra), capture_output=True, text=True, timeout=LIMIT, check=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def two_ranks(argv: list[str]) -> list[subprocess.Popen[str]]:
    """The ranks without torchrun, as the launcher `python` starts them."""
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            argv,
            env=environment(**shared, RANK=str(rank), LOCAL_RANK=str(rank)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]


def finished(ranks: list[subprocess.Popen[str]]) -> list[int]:
    """Wait for the ranks, show what they printed, leave none behind; return their exit codes."""
    try:
        for rank in ranks:
            print(rank.communicate(timeout=LIMIT)[0])
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.wait() for rank in ranks]


def metrics(output: Path, rank: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()]


def checkpoints(output: Path) -> list[str]:
    return sorted(path.name for path in (output / "checkpoints").iterdir())


def test_torchrun_ddp_learns_and_resumes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    first = run(
        command(tmp_path, "training.steps=8", "training.lr=0.02", "training.checkpoint_every=2", start=torchrun)
    )
    assert first.returncode == 0, first.stderr
    lines = [metrics(tmp_path, rank) for rank in range(2)]
    for rank, records in enumerate(lines):
        assert [list(line) for line in records] == [KEYS] * 8
        assert [(line["rank"], line["world_size"], line["step"]) for line in records] == [
            (rank, 2, s) for s in range(1, 9)
        ]
    assert [line["loss"] for line in lines[0]] == [line["loss"] for line in lines[1]]
    assert lines[0][-1]["loss"] < lines[0][0]["loss"] - 0.5
    assert checkpoints(tmp_path) == ["step_000006", "step_000008"]
    assert f"first loss {lines[0][0]['loss']:.3f}, last loss {lines[0][-1]['loss']:.3f}" in first.stdout

    # What kills leave behind, with higher numbers: one that was being written, one without its list of contents.
    (tmp_path / "checkpoints" / "step_000098.partial").mkdir()
    (tmp_path / "checkpoints" / "step_000098.partial" / ".metadata").write_text("half")
    (tmp_path / "checkpoints" / "step_000099").mkdir()
    assert finished(two_ranks(command(tmp_path, "training.steps=10", "training.lr=0.02"))) == [0, 0]
    assert f"resumed from {tmp_path}/checkpoints/step_000008" in capfd.readouterr().out
    for rank in range(2):
        assert [line["step"] for line in metrics(tmp_path, rank)] == list(range(1, 11))
    assert metrics(tmp_path)[8]["loss"] < lines[0][0]["loss"] - 0.5
    assert checkpoints(tmp_path) == ["step_000008", "step_000010", "step_000099"]


def test_no_thread_of_the_group_outlives_the_training(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A thread of gloo that Python's shutdown meets aborts the process, after a training that succeeded."""
    argv = command(tmp_path, "training.steps=2", start=(sys.executable, "-c", LEAVE))
    assert finished(two_ranks(argv)) == [0, 0]
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("threads ")]
    endings = [line for line in lines if line.startswith("threads at the end:")]
    assert len(endings) == 2
    assert not [line for line in endings if "gloo" in line]
    assert [line for line in lines if line.startswith("threads in the training:") and "gloo" in line]


def test_fsdp_trains_like_one_rank_and_is_deterministic_when_resumed(tmp_path: Path) -> None:
    argv = command(tmp_path / "fsdp", "training.parallel=fsdp", "training.steps=6", "training.checkpoint_every=4")
    assert finished(two_ranks(argv)) == [0, 0]
    shutil.rmtree(tmp_path / "fsdp" / "checkpoints" / "step_000006")
    assert finished(two_ranks(argv)) == [0, 0]
    steps = [line["step"] for line in metrics(tmp_path / "fsdp", 1)]
    assert steps == [1, 2, 3, 4, 5, 6, 5, 6]
    # One rank with the batch of both sees the same sequences.
    alone = run(command(tmp_path / "alone", "training.batch_size=32", "training.steps=6"))
    assert alone.returncode == 0, alone.stderr
    for key in ("loss", "grad_norm", "lr"):
        expected = {line["step"]: line[key] for line in metrics(tmp_path / "alone")}
        values = [line[key] for line in metrics(tmp_path / "fsdp", 1)]
        assert values == pytest.approx([expected[step] for step in steps], rel=1e-4)


def test_sigterm_to_one_rank_stops_all_at_one_step_with_a_checkpoint(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ranks = two_ranks(command(tmp_path, "training.steps=1000000"))
    while not (tmp_path / "rank_01_metrics.jsonl").exists() and ranks[1].poll() is None:
        time.sleep(0.05)
    ranks[1].send_signal(signal.SIGTERM)
    assert finished(ranks) == [0, 0]
    last = metrics(tmp_path)[-1]["step"]
    assert metrics(tmp_path, 1)[-1]["step"] == last < 1000000
    assert checkpoints(tmp_path)[-1] == f"step_{last:06d}"
    assert f"left after step {last}: first loss" in capfd.readouterr().out


def test_a_full_disk_does_not_end_the_training(tmp_path: Path) -> None:
    (tmp_path / "rank_00_metrics.jsonl").symlink_to("/dev/full")
    (tmp_path / "checkpoints").write_text("no directory can be made here")
    argv = [part for s in (*TINY, "training.steps=2") for part in ("--override", s)]
    result = run([sys.executable, str(EXAMPLE / "train.py"), *argv], MUSTER_OUTPUT_DIR=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "could not save a checkpoint" in result.stdout
    assert "step 2/2" in result.stdout


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return importlib.import_module("train")


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("training.stepz=3", "unknown key 'training.stepz'; known are model.layers, "),
        ("steps=3", "unknown key 'steps'; known are model.layers, "),
        ("training.steps=many", "training.steps must be of type int, not 'many'"),
        ("training.steps", "training.steps must be of type int, not None"),
        ("training.lr=fast", "could not convert string to float: 'fast'"),
        ("training.parallel=tp", "training.parallel must be ddp or fsdp, not 'tp'"),
    ],
)
def test_a_bad_override_is_refused_by_name(
    train: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    override: str,
    complaint: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--override", override])
    with pytest.raises(SystemExit) as left:
        train.configure()
    assert left.value.code == 2
    assert complaint in capsys.readouterr().err


def test_an_override_wins_over_the_config_file(
    train: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("model:\ntraining: {steps: 7, lr: 1e-2, output_dir: 2026}\n")
    overrides = ["--override", "training.steps=8", "--override", "model.width=64"]
    monkeypatch.setattr(sys, "argv", ["train.py", "--config", str(tmp_path / "config.yaml"), *overrides])
    model, training = train.configure()
    assert (training.steps, training.lr, training.output_dir, model.width) == (8, 0.01, "2026", 64)


def test_the_config_file_shows_the_defaults(train: ModuleType) -> None:
    defaults = {"model": vars(train.Model()), "training": vars(train.Training())}
    assert defaults["training"].pop("output_dir") == "outputs"
    assert defaults["training"].pop("data") == str(EXAMPLE / "text.txt")
    assert yaml.safe_load((EXAMPLE / "config.yaml").read_text()) == defaults


@pytest.mark.parametrize("text", ["training: {stepz: 3}", "training: 3", "[1]", "training: {"])
def test_a_bad_config_file_is_refused(
    train: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["train.py", "--config", str(tmp_path / "config.yaml")])
    with pytest.raises(SystemExit) as left:
        train.configure()
    assert left.value.code == 2
