# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the launcher exec: where it is found, and what it gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.place import place_of
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.program import find_program
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of


def make_program(folder: Path, name: str = "train") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\necho started as $0\n")
    path.chmod(0o755)
    return path


def test_a_program_beside_the_interpreter_comes_before_one_on_path(tmp_path: Path) -> None:
    beside, on_path = make_program(tmp_path / "venv"), make_program(tmp_path / "bin")
    environment = {"MUSTER_PYTHON": str(tmp_path / "venv" / "python"), "PATH": str(tmp_path / "bin")}
    assert find_program("train", environment) == str(beside)
    beside.unlink()
    assert find_program("train", environment) == str(on_path)
    assert find_program("/bin/sh", environment) == "/bin/sh"
    assert find_program("./train", environment) == "./train"


def test_a_program_that_is_nowhere_is_named_with_where_it_was_searched(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        find_program("train", {"MUSTER_PYTHON": "/opt/venv/bin/python", "PATH": str(tmp_path)})
    assert {"/opt/venv/bin", f"{tmp_path})"} <= set(str(caught.value.strerror).split())


def test_a_restart_and_a_spare_change_the_place_and_no_variable_of_a_rank_is_set(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["train"], launcher="exec", nnodes=2, nproc=2, world_size=4)
    assert place_of(job.at(1), 1) == {"NODE_RANK": "1", "GROUP_RANK": "1", "MASTER_PORT": "29401"}


@pytest.mark.slow
def test_the_runner_starts_a_program_by_its_name(tmp_path: Path) -> None:
    make_program(tmp_path / "bin")
    job = make_job(tmp_path, ["train"], launcher="exec")
    private = {"environment": {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}}
    assert spawn(job, private).wait(30) == 0
    text = Path(job.run_dir, "logs/node.log").read_text()
    assert text.rstrip().endswith(f"started as {tmp_path}/bin/train")


@pytest.mark.slow
def test_the_runner_says_that_a_program_is_missing(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["train"], launcher="exec")
    assert spawn(job, {"environment": {"PATH": "/nowhere"}}).wait(30) == 1
    assert "/nowhere" in state_of(job)["why"]
