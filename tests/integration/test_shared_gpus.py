# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch on nodes whose GPUs another process uses: it says so, and starts unless the level is fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.nvidia_machines import machine

TOOL = """\
import sys
answers = ANSWERS
line = " ".join(["nvidia-smi", *sys.argv[1:]])
if line not in answers:
    sys.exit(f"no answer to {line}")
print(answers[line], end="")
"""


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of no run."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def nvidia_smi(folder: Path, pid: int) -> str:
    """Write an nvidia-smi that shows four GPUs, one of them used by this process; return the PATH with it."""
    answers = {line: result["stdout"] for line, result in machine()["commands"].items()}
    answers["nvidia-smi --query-compute-apps=pid,gpu_bus_id --format=csv,noheader"] = f"{pid}, 00000000:1B:00.0\n"
    folder.mkdir()
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!{sys.executable}\n{TOOL.replace('ANSWERS', repr(answers))}")
    tool.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_a_launch_tells_who_uses_its_gpus(cluster: Cluster, tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    path = nvidia_smi(tmp_path / "bin", stranger.pid)
    asked = ("launch.yml", "-e", '{"script_args": ["--seconds", "1"]}')
    played = cluster.play(*asked, PATH=path)
    assert played.rc == 0, played.out
    warning = " ".join(played.out.partition("[WARNING]: ")[2].split())
    assert warning.startswith(
        "node0 and node1: gpu processes: other processes use the GPUs of the ranks: 1 process of this user (sleep); "
        "expected"
    )
    assert played.out.count("gpu processes") == 1

    cluster.policy["preflight_levels"] = {"gpu processes": "fail"}
    cluster.write()
    played = cluster.play(*asked, PATH=path)
    assert played.rc != 0
    assert "node0 and node1: gpu processes: other processes use the GPUs" in played.out
    assert "Start the job" not in played.out
