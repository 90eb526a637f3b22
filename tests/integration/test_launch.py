# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job: the embedded cluster trains its example on two nodes, and goes on from the checkpoint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tests.integration.cluster import ROOT, Cluster, Played

pytest.importorskip("torch")

RUN_ID = "multinode_42ch_autoth_20261120_143052_first"
TINY = ["model.layers=1", "model.width=32", "model.context=32", "training.lr=0.02", "training.log_every=1"]
NUMBER = r"\d+(?:\.\d+)?"


@pytest.fixture
def embedded(cluster: Cluster) -> Cluster:
    """inventories/local as it is; only the directories are the test's own."""
    return cluster


def launch(embedded: Cluster, steps: int) -> Played:
    overrides = [*TINY, f"training.steps={steps}"]
    parameters = {
        "channels": 42,
        "run_id": RUN_ID,
        "label": "first",
        "script_args": [part for override in overrides for part in ("--override", override)],
        "launch_experiments_dir": str(embedded.experiments),
        "launch_workdir": str(embedded.home / "work") + "/{{ inventory_hostname }}",
    }
    # As `make launch` does: no -i, the inventory is the one that ansible.cfg names.
    argv = ["ansible-playbook", "launch.yml", "-e", json.dumps(parameters)]
    done = subprocess.run(
        argv,
        executable=shutil.which("ansible-playbook", path=Path(__import__("sys").executable).parent),
        cwd=ROOT,
        env=embedded.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Played(done.returncode, done.stdout)


def metrics(home: Path, rank: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()]
