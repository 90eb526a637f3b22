# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job: the embedded cluster trains its example on two nodes, and goes on from the checkpoint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import ROOT, Played, run_to_end

RUN_ID = "multinode_42ch_autoth_20261120_143052_first"
TINY = ["model.layers=1", "model.width=32", "model.context=32", "training.lr=0.02", "training.log_every=1"]
STEPS = 12


def launch(cluster: Cluster, steps: int, *given: str, **more: Any) -> Played:
    """Launch on inventories/local, as `make launch` does; only the directories are the cluster's of this test."""
    overrides = [part for override in (*TINY, f"training.steps={steps}") for part in ("--override", override)]
    parameters = {
        "run_id": RUN_ID,
        "script_args": overrides,
        **more,
        "launch_experiments_dir": str(cluster.experiments),
        "launch_workdir": str(cluster.home / "work") + "/{{ inventory_hostname }}",
    }
    ansible_playbook = str(Path(sys.executable).with_name("ansible-playbook"))
    return run_to_end([ansible_playbook, "launch.yml", *given, "-e", json.dumps(parameters)], cluster.environment())


def metrics(home: Path, rank: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()]


def assert_succeeded(played: Played) -> tuple[float, float]:
    """Check the last block; return the first and the last loss that it shows."""
    assert played.rc == 0, played.out
    assert played.phases == {"node0": "succeeded", "node1": "succeeded"}
    # The only task without work: no command was given for the end of the run.
    assert re.findall(r"skipped=(\d+)", played.out) == ["0", "1", "0"]
    line = rf"^{RUN_ID}  succeeded · 4 ranks on 2 nodes · loss ([\d.]+) -> ([\d.]+) · (?:\d+ min )?\d+ s$"
    match = re.search(line, played.out, re.MULTILINE)
    assert match, played.out
    return float(match[1]), float(match[2])


@pytest.mark.gate
def test_the_example_learns_on_two_nodes_and_resumes(cluster: Cluster) -> None:
    first, last = assert_succeeded(launch(cluster, STEPS, "-e", "channels=42", label="first"))
    assert last < first - 0.5
    home = cluster.experiments / RUN_ID
    assert sorted(path.name for path in home.iterdir()) == ["logs", "nodes", "outputs", "plan.json", "ranks", "run.yml"]
    assert (cluster.experiments / "latest").resolve() == home
    check_record(cluster, first, last)
    for rank in range(4):
        records = metrics(home, rank)
        assert [(line["rank"], line["world_size"], line["step"]) for line in records] == [
            (rank, 4, step) for step in range(1, STEPS + 1)
        ]
        assert records[0]["loss"] == pytest.approx(first, rel=0.01)
        assert records[-1]["loss"] == pytest.approx(last, rel=0.01)
    for number, log in enumerate(sorted((home / "logs").iterdir())):
        assert re.fullmatch(rf"node_{number}_20\d{{6}}_\d{{6}}\.txt", log.name)
    for rank in range(4):
        assert f" rank {rank} of 4 on " in (home / "ranks" / f"rank_{rank:02d}.log").read_text()
    text = (home / "ranks" / "rank_00.log").read_text()
    assert f" step {STEPS}/{STEPS}  loss " in text
    assert cluster.processes() == []

    resumed, again = assert_succeeded(launch(cluster, STEPS + 4))
    assert (resumed, again < last) == (first, True)
    for rank in range(4):
        assert [line["step"] for line in metrics(home, rank)] == list(range(1, STEPS + 5))
    assert f"/checkpoints/step_{STEPS:06d}" in (home / "ranks" / "rank_00.log").read_text()
    record = cluster.record(RUN_ID)
    assert record["label"] == "first"
    assert record["parameters"]["channels"] == {
        "value": 42,
        "origin": "-e channels, as in the run's plan",
        "layer": "earlier",
    }
    (attempt,) = record["attempts"]
    assert (attempt["verdict"], attempt["loss"]["last"]) == ("succeeded", pytest.approx(last, rel=0.01))


def check_record(cluster: Cluster, first: float, last: float) -> None:
    """Compare run.yml and plan.json with what was asked for and what happened."""
    record = cluster.record(RUN_ID)
    assert record["verdict"] == "succeeded"
    assert record["exit_codes"] == {"node0": 0, "node1": 0}
    assert (record["world_size"], record["nodes"]) == (4, ["node0", "node1"])
    assert record["command"].startswith("ansible-playbook launch.yml -e channels=42 -e ")
    assert record["parameters"]["channels"] == {"value": 42, "origin": "-e channels", "layer": "extra_vars"}
    assert record["parameters"]["nproc"] == {"value": 2, "origin": "cluster (launch_defaults)", "layer": "cluster"}
    assert record["loss"]["first"] == pytest.approx(first, rel=0.01)
    assert record["loss"]["last"] == pytest.approx(last, rel=0.01)
    assert set(record["versions"]) == {"muster", "ansible_core", "python"}
    assert None not in record["versions"].values()
    assert record["created"] <= record["started"] < record["ended"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert record["code"]["commit"] == head.stdout.strip()
        assert record["code"]["dirty"] in (True, False)
    plan = json.loads((cluster.experiments / RUN_ID / "plan.json").read_text())
    assert (plan["run_id"], plan["nonce"], sorted(plan["jobs"])) == (RUN_ID, record["nonce"], ["node0", "node1"])
