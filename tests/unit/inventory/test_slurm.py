# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the inventory plugin `slurm` where there is no Slurm, through Ansible's own inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.play import ROOT

pytestmark = pytest.mark.slow


def inventory(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `ansible-inventory --list` makes of the checkout's example on a machine without Slurm."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "env").symlink_to("/usr/bin/env")
    return subprocess.run(
        [sys.executable, "-m", "ansible", "inventory", "-i", "inventories/slurm/slurm.yml", "--list", "--export"],
        env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg", "PATH": str(tmp_path / "bin"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_slurm_there_is_one_error(tmp_path: Path) -> None:
    done = inventory(tmp_path, MUSTER_SLURM_JOB_ID="7")
    assert done.returncode == 4
    assert done.stderr.count("squeue") == 1
    assert done.stdout == ""


def test_nodes_that_are_named_need_no_slurm(tmp_path: Path) -> None:
    done = inventory(tmp_path, MUSTER_SLURM_CONNECTION="local", MUSTER_SLURM_NODE_LIST="gpu[09-10],gpu02")
    groups = json.loads(done.stdout)
    assert groups["nodes"]["hosts"] == ["gpu09", "gpu10", "gpu02"]
    assert groups["nodes"]["vars"]["ansible_connection"] == {"__ansible_unsafe": "local"}
    assert done.stderr == ""
