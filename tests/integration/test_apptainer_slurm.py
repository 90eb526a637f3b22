# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks in an image, on the four nodes of a Slurm allocation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import apptainer_image, slurm_cluster
from ansible_collections.muster.train.tests.support.cluster import RUN_ID
from ansible_collections.muster.train.tests.support.slurm_cluster import SlurmCluster
from ansible_collections.muster.train.tests.support.slurm_nodes import SlurmNodes

WHY_NOT = slurm_cluster.missing() or apptainer_image.missing()
pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600), pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]


def test_eight_ranks_in_an_image_and_its_stop(slurm: SlurmCluster, tmp_path: Path) -> None:
    policy = {
        "launch_runtime": "apptainer",
        "launch_image": str(apptainer_image.image()),
        "launch_python": "python3",
        "launch_binds": [apptainer_image.PACKAGES],
        "launch_env": {"PYTHONPATH": apptainer_image.PACKAGES},
    }
    job = slurm.allocate("--nodes=4", "--gpus-per-node=2", "--exclusive")
    nodes = SlurmNodes(tmp_path, policy=policy, slurm=slurm, job=job)
    try:
        done = nodes.launch(follow=True)
        assert done.rc == 0, done.out
        plan = json.loads((nodes.experiments / RUN_ID / "plan.json").read_text())
        assert {(item["runtime"], item["starter"]) for item in plan["jobs"].values()} == {("apptainer", "slurm")}
        assert (plan["world_size"], nodes.record()["verdict"]) == (8, "succeeded")
        again = nodes.launch(script_args=["--seconds", "600"])
        assert again.rc == 0, again.out
        assert nodes.verb("stop").rc == 0
        assert [nodes.state(node)["phase"] for node in nodes.names] == ["stopped"] * 4
        assert nodes.processes() == []
    finally:
        slurm.cancel(job)
        nodes.destroy()
