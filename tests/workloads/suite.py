# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of libraries that know nothing of Muster: two nodes with two ranks each, launched twice from a checkout.

`make workloads` runs this file; its libraries are in an environment of their own (requirements-workloads.txt).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.checkouts import git
from ansible_collections.muster.train.tests.support.cluster import ROOT, RUN_ID, Cluster

PROGRAMS = Path(__file__).with_name("programs")
PYTHON = ROOT / ".cache" / "workloads" / "venv" / "bin" / "python"
SIZE = ["--devices", "2", "--num-nodes", "{nnodes}"]
HUGGING_FACE = [
    *("--output_dir", "{output_dir}/trainer", "--use_cpu", "--max_steps", "4", "--save_steps", "2"),
    *("--logging_steps", "1", "--per_device_train_batch_size", "2", "--report_to", "none"),
]
TORCHRUN: dict[str, dict[str, Any]] = {
    "lightning-trainer": {"script": "lightning_trainer.py", "script_args": SIZE},
    "lightning-fabric": {"script": "lightning_fabric.py", "script_args": [*SIZE, "--checkpoints", "{output_dir}"]},
    "transformers-trainer": {"script": "hf_trainer.py", "script_args": HUGGING_FACE},
    "trl-sft": {"script": "trl_sft.py", "script_args": HUGGING_FACE},
    "deepspeed-zero-1": {
        "script": "deepspeed_zero.py",
        "config": "ds_config.json",
        "config_option": "--deepspeed_config",
        "script_args": ["--checkpoints", "{output_dir}"],
        "env": {"DS_ACCELERATOR": "cpu"},
    },
}
LINE = "rank {rank} of 4, step "


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Cluster]:
    """Two local nodes with the programs in a git checkout, from which both start."""
    cluster = Cluster(tmp_path)
    folder = cluster.home / "code"
    shutil.copytree(PROGRAMS, folder)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Add the programs")
    cluster.policy.update(
        launch_code_dir=str(folder),
        launch_python=str(PYTHON),
        launch_defaults={"launcher": "torchrun", "nproc": 2, "follow": True},
    )
    cluster.write()
    yield cluster
    cluster.destroy()


def launch_twice(cluster: Cluster, **parameters: Any) -> list[str]:
    """Launch two runs, one after the other; return the text of all logs of each."""
    texts = []
    for number in (1, 2):
        run_id = f"{RUN_ID}_{number}"
        played = cluster.launch(**{"follow": True, **parameters}, run_id=run_id)
        assert played.rc == 0, played.out
        assert f"{run_id}  succeeded" in played.out
        assert "succeeded, but" not in played.out
        home = cluster.experiments / run_id
        texts.append(
            "\n".join(path.read_text() for path in sorted(home.glob("*/*.log")) + sorted(home.glob("logs/*.txt")))
        )
    return texts


@pytest.mark.parametrize("program", TORCHRUN)
def test_a_program_trains_under_torchrun(program: str, checkout: Cluster) -> None:
    for text in launch_twice(checkout, **TORCHRUN[program]):
        for rank in range(4):
            assert LINE.format(rank=rank) in text
        if program == "deepspeed-zero-1":
            assert "ZeRO stage 1" in text


@pytest.mark.parametrize(
    ("name", "nproc", "line"),
    [
        # Its expectations of split tensors are for two ranks.
        ("test_script", 1, "Training yielded the same results on one CPU or distributed setup"),
        ("test_ops", 2, "testing gather_object"),
        ("test_sync", 2, "**Test Distributed `no_sync` context manager**"),
    ],
)
def test_accelerates_own_tests_pass_under_torchrun(name: str, nproc: int, line: str, checkout: Cluster) -> None:
    program = {"module": f"accelerate.test_utils.scripts.{name}", "env": {"ACCELERATE_USE_CPU": "1"}, "nproc": nproc}
    for text in launch_twice(checkout, **program):
        assert line in text


@pytest.mark.parametrize("script", ["lightning_trainer.py", "lightning_fabric.py"])
def test_lightning_starts_its_ranks_itself(script: str, checkout: Cluster) -> None:
    arguments = [*SIZE, *(["--checkpoints", "{output_dir}"] if "fabric" in script else [])]
    for text in launch_twice(checkout, launcher="exec", script=script, script_args=arguments):
        for rank in range(4):
            assert LINE.format(rank=rank) in text


def test_accelerate_launch_starts_its_ranks_itself(checkout: Cluster) -> None:
    port = int(checkout.policy["launch_port_range"].split("-")[0]) + 900
    arguments = [
        # Without GPUs, accelerate starts several ranks by torchrun with this option only; --cpu takes MPI.
        *(
            "launch",
            "--multi_gpu",
            "--num_machines",
            "{nnodes}",
            "--num_processes",
            "4",
            "--machine_rank",
            "{node_rank}",
        ),
        *("--main_process_ip", "{master_addr}", "--main_process_port", str(port), "hf_trainer.py", *HUGGING_FACE),
    ]
    program = {"launcher": "exec", "script": "accelerate", "master_port": port}
    for text in launch_twice(checkout, **program, script_args=arguments):
        for rank in range(4):
            assert LINE.format(rank=rank) in text
