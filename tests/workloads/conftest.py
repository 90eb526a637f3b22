# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of the workloads: two local nodes that start programs of a git checkout."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.checkouts import git
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import ROOT

PROGRAMS = Path(__file__).with_name("programs")
PYTHON = ROOT / ".cache" / "workloads" / "venv" / "bin" / "python"


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
