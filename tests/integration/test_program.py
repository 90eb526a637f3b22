# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that start their ranks themselves (launcher=exec): they meet, and are counted by what they report."""

from __future__ import annotations

import json

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

PROGRAM = {"launcher": "exec", "script": "spawning.py", "nproc": 2, "follow": True}


def test_the_ranks_that_a_program_starts_meet_and_are_counted(cluster: Cluster) -> None:
    played = cluster.launch(**PROGRAM)
    assert played.rc == 0, played.out
    assert played.phases == {"node0": "succeeded", "node1": "succeeded"}
    assert f"{RUN_ID}  succeeded · 4 ranks on 2 nodes" in played.out
    outputs = cluster.experiments / RUN_ID / "outputs"
    for rank in range(4):
        lines = (outputs / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["total"] for line in lines] == [4.0, 4.0, 4.0]
    assert [cluster.state(node)["ranks"] for node in ("node0", "node1")] == [[0, 1], [2, 3]]
    assert cluster.record()["world_size"] == 4
    assert cluster.processes() == []


def test_ranks_are_counted_by_what_they_report_and_not_by_the_plan(cluster: Cluster) -> None:
    played = cluster.launch(**{**PROGRAM, "nproc": 1}, script_args=["--workers", "2"])
    assert played.rc == 0, played.out
    assert f"{RUN_ID}  succeeded · 4 ranks on 2 nodes" in played.out
    assert cluster.record()["world_size"] == 4
    outputs = cluster.experiments / RUN_ID / "outputs"
    kept = sorted(str(path.relative_to(outputs)) for path in outputs.rglob("*_metrics.jsonl"))
    assert kept == [
        "node_0/rank_01_metrics.jsonl",
        "node_1/rank_02_metrics.jsonl",
        "node_1/rank_03_metrics.jsonl",
        "rank_00_metrics.jsonl",
    ]


def test_a_rank_that_fails_is_named(cluster: Cluster) -> None:
    played = cluster.launch(**PROGRAM, script_args=["--fail-rank", "3"])
    assert played.rc == 2
    assert "node1: rank 3 exited with code 1: ValueError: the loss is not a number" in played.out
    record = cluster.record()
    assert record["verdict"] == "failed"
    assert cluster.processes() == []
