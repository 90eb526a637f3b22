# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that dies while it starts a run, or right after; the nodes are reached by the local connection."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import death
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare


@pytest.mark.parametrize("how", ["alone", pytest.param("everything", marks=pytest.mark.gate), "interrupt"])
def test_a_controller_dies_between_prepare_and_start(tmp_path: Path, how: str) -> None:
    cluster = Cluster(tmp_path, policy=death.POLICY)
    try:
        death.launch_and_strike(cluster, how)
        death.check_what_is_left(cluster)
        # With pipelining no module was ever a file.
        assert death.files_below(cluster.remote_tmp) == []
    finally:
        cluster.destroy()


def test_a_controller_died_before_any_runner_was_born(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, policy=death.POLICY)
    (tmp_path / "work/node1").mkdir(parents=True)
    # Too short a moment to strike in it: the files as the module leaves them.
    job = make_job(tmp_path / "work/node1", [sys.executable], run_id=RUN_ID, node="node1", node_rank=1)
    prepare(job, {"secrets": cluster.policy["launch_secrets"]})
    assert death.files_with(death.SECRET, tmp_path / "work") != []
    try:
        death.check_what_is_left(cluster)
    finally:
        cluster.destroy()


@pytest.mark.gate
def test_a_run_outlives_its_controller_and_is_collected_completely(cluster: Cluster) -> None:
    over = cluster.home / "over"
    controller = cluster.begin("launch", launcher="torchrun", nproc=2, script_args=f"--seconds 3000 --until {over}")
    cluster.wait_phase(RUN_ID, "running")
    os.kill(controller.pid, signal.SIGKILL)
    controller.communicate(timeout=180)

    # Somebody else looks, from a machine that knows nothing of the launch.
    (cluster.home / "second").mkdir()
    second = Cluster(cluster.home / "second", policy={"launch_workdir": cluster.policy["launch_workdir"]})
    running = second.verb("status")
    assert running.rc == 0, running.out
    assert running.phases == {"node0": "running", "node1": "running"}
    over.touch()
    cluster.wait_phase(RUN_ID, "succeeded")

    collected = second.verb("collect")
    assert collected.rc == 0, collected.out
    assert collected.phases == {"node0": "succeeded", "node1": "succeeded"}
    home = second.experiments / RUN_ID
    record = second.record()
    assert (record["verdict"], record["world_size"]) == ("succeeded", 4)
    # Its ranks do not train together.
    assert record["why"].startswith("succeeded, but no rank joined a process group")
    assert record["exit_codes"] == {"node0": 0, "node1": 0}
    assert record["nonce"] == cluster.state("node0")["nonce"]
    assert record["parameters"]["launcher"] == {"value": "torchrun", "origin": "-e launcher", "layer": "extra_vars"}
    here = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    ranks = {f"ranks/rank_{rank:02d}.log" for rank in range(4)}
    metrics = {f"outputs/rank_{rank:02d}_metrics.jsonl" for rank in range(4)}
    assert {"plan.json", "run.yml", *ranks, *metrics} <= here
    logs = sorted(home.glob("logs/node_*.txt"))
    assert [log.name[: len("node_0_")] for log in logs] == ["node_0_", "node_1_"]
    for rank, node in enumerate(["node0", "node0", "node1", "node1"]):
        assert f" rank{rank} | rank {rank} ends\n" in logs[rank // 2].read_text()
        metrics_file = f"outputs/rank_{rank:02d}_metrics.jsonl"
        assert (home / metrics_file).read_text() == (cluster.run_dir(node) / metrics_file).read_text() != ""
    assert cluster.processes() == []
