# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories as the aorta scripts leave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

RUN_ID = "multinode_28ch_256th_20251219_140715_fused"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOTE = ("2025-12-19 15:01:02", "without the wait in the forward pass")
SWEEP = "sweep_20251120_090000"


def info(notes: Sequence[tuple[str, str]] = (NOTE,)) -> str:
    """Return an `experiment_info.txt`."""
    lines = [
        *("Experiment: fused", "Timestamp: 20251219_140715", "Date: 2025-12-19 14:07:15", "", "Configuration:"),
        *("- Config file: config/two.yaml", "- NCCL Channels: 28", "- RCCL Threads: 256"),
        *("- Processes per node: 8", "- Docker container: rocm", "- AMD_OCL_WAIT_COMMAND: true"),
        *("- rocprof enabled: false", "", "Git Info:", "- Branch: fused", f"- Commit Hash: {COMMIT}"),
        *("- Commit Short: 0123456", "- Status: modified", "", "Command:", "./master_launch.sh -c 28 -l fused", ""),
        *("Notes:", "(Add notes here about code changes, hypothesis, etc.)"),
    ]
    return "\n".join([*lines, *(line for at, text in notes for line in ("", f"[{at}] {text}"))]) + "\n"


def node_log(rank: int, end: str, world_size: int = 16) -> str:
    """Return what a node printed; end: what its last lines say."""
    lines = [f"Node Rank: {rank}", f"Node IP: gpu{rank}", f"World Size: {world_size} GPUs", "Processes per node: 8"]
    stamp = f"[2025-12-19 14:09:00] [Node {rank}]"
    return "\n".join([*lines, "Config File: config/two.yaml", f"{stamp} Starting", "step 1", f"{stamp} {end}"]) + "\n"


def metrics(losses: Sequence[float]) -> str:
    """Return the metrics of a rank, a line for each step."""
    return "".join(
        json.dumps({"rank": 0, "global_step": step, "loss": loss}) + "\n" for step, loss in enumerate(losses, 1)
    )


SUCCESS, FAILURE = (
    "Training completed successfully (duration: 95s)",
    "Training failed with exit code: 7 (duration: 31s)",
)


def write_run(
    folder: Path, name: str = RUN_ID, ends: Sequence[str] = (SUCCESS, SUCCESS), losses: Sequence[float] = (2.5, 1.25)
) -> Path:
    """Write the experiment of a run with a node for each end; return its directory."""
    home, output = folder / name, folder / name / "256thread_28channels"
    (home / "logs").mkdir(parents=True)
    output.mkdir()
    (home / "experiment_info.txt").write_text(info())
    for rank, end in enumerate(ends):
        (home / "logs" / f"node_{rank}_20251219_140716.txt").write_text(node_log(rank, end))
    (output / "rank_00_metrics.jsonl").write_text(metrics(losses))
    return home


def write_sweep(folder: Path) -> Path:
    """Write a sweep of 2 x 2 runs, of which one failed, was started again and succeeded, and one has no end."""
    home = folder / SWEEP
    for threads in (256, 512):
        for channels in (28, 42):
            point = home / f"{threads}thread" / f"nccl_{channels}channels"
            point.mkdir(parents=True)
            (point / "rank_00_metrics.jsonl").write_text(metrics([2.0, threads / channels]))
    lines = [
        *("Config file: config/one.yaml", "Processes per node: 8"),
        "[ERROR] Failed run with THREADS=256, CHANNELS=28 (exit code: 1, duration: 3s)",
        "[OK] Completed run with THREADS=256, CHANNELS=28 (duration: 12s)",
        "[OK] Completed run with THREADS=256, CHANNELS=42 (duration: 11s)",
        "[ERROR] Failed run with THREADS=512, CHANNELS=28 (exit code: 137, duration: 2s)",
    ]
    (home / "nccl_thread_sweep_20251120_090000.log").write_text(
        "".join(f"[2025-11-20 09:00:00] {line}\n" for line in lines)
    )
    return home
