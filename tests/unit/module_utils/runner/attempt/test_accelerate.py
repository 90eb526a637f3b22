# SPDX-License-Identifier: GPL-3.0-or-later
"""What accelerate launch gets from torchrun.py and what it gives back, by objects of its and torch's shape."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.torchrun import _call_accelerate

ACCELERATE = "accelerate.commands.launch"
PROGRAM = {"module": True, "no_python": False, "training_script": "pkg.train", "training_script_args": ["--lr", "1"]}


class Launch:
    """The module accelerate.commands.launch; choice is the function by which it starts the ranks, None for none."""

    def __init__(self, torchrun: Any, choice: str | None, **options: Any) -> None:
        self.torchrun, self.choice = torchrun, choice
        self.words: list[str] = []
        self.options = SimpleNamespace(cpu=False, use_cpu=False, max_restarts=7, **PROGRAM)
        vars(self.options).update(options)

    def launch_command_parser(self) -> Any:
        def parse_args(words: list[str]) -> Any:
            self.words = words
            return self.options

        return SimpleNamespace(parse_args=parse_args)

    def multi_gpu_launcher(self, options: Any) -> None:
        self.torchrun.run(options)

    def simple_launcher(self, options: Any) -> None:
        raise AssertionError("it starts one process of its own")

    def launch_command(self, options: Any) -> None:
        if self.choice is not None:
            getattr(self, self.choice)(options)


def call(monkeypatch: pytest.MonkeyPatch, run_dir: Path, choice: str | None, **options: Any) -> tuple[int, Any, Launch]:
    """Return the exit code, the arguments with which torchrun was run, and the module."""
    torchrun = SimpleNamespace(run=None)
    launch = Launch(torchrun, choice, **options)
    monkeypatch.setitem(sys.modules, ACCELERATE, launch)
    monkeypatch.setenv("MUSTER_RUN_DIR", str(run_dir))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "")  # so that it is restored
    words = ["--num_machines=2", "train.py"]
    args = SimpleNamespace(
        node_rank=1,
        rdzv_endpoint="[fd00::1]:29401",
        max_restarts=0,
        module=True,
        no_python=False,
        training_script=ACCELERATE,
        training_script_args=words,
    )
    runs: list[Any] = []

    def run(args: Any) -> int:
        runs.append(args)
        return 3

    code = _call_accelerate(torchrun, args, run)
    [ran] = runs
    return code, ran, launch


@pytest.mark.parametrize("choice", ["multi_gpu_launcher", "simple_launcher"])
def test_torchrun_runs_the_program_of_accelerate_as_the_plan_says(
    choice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, args, launch = call(monkeypatch, tmp_path, choice)
    assert code == 3
    assert {**vars(args), **PROGRAM} == vars(args)
    assert (args.node_rank, args.rdzv_endpoint, args.max_restarts) == (1, "[fd00::1]:29401", 0)
    place = ["--machine_rank=1", "--main_process_ip=[fd00::1]", "--main_process_port=29401"]
    assert launch.words == [f"--config_file={tmp_path}/accelerate.json", *place, "--num_machines=2", "train.py"]
    assert json.loads((tmp_path / "accelerate.json").read_text()) == {"distributed_type": "NO", "num_processes": 1}
    assert os.environ["ACCELERATE_USE_CPU"] == ""


@pytest.mark.parametrize("option", ["cpu", "use_cpu"])
def test_ranks_on_cpus_know_it(option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    call(monkeypatch, tmp_path, "simple_launcher", **{option: True})
    assert os.environ["ACCELERATE_USE_CPU"] == "true"


def test_an_accelerate_that_starts_ranks_in_another_way_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        call(monkeypatch, tmp_path, None)
