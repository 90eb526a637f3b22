# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way on real hosts, over ssh as a user with sudo: from setup to collect, in containers and without."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.way import HOSTS, Way, changes

pytestmark = pytest.mark.hosts

RANKS = 6
STEPS = 12


@pytest.fixture(params=["docker", "host"])
def way(request: pytest.FixtureRequest, real_inventory: Path, tmp_path: Path) -> Way:
    return Way(real_inventory, request.param, tmp_path)


def test_from_setup_to_collect(way: Way) -> None:
    if way.policy["launch_runtime"] == "docker":
        predicted = changes(way.play("setup", "--check"))
        assert all(predicted)
        assert changes(way.play("setup")) == predicted
        assert changes(way.play("setup")) == [0, 0, 0]
    else:  # the hosts are set up, and only the code is new
        assert all(changes(way.play("setup")))
    way.play("preflight")

    printed = way.play("launch", channels=42, script_args=["--override", f"training.steps={STEPS}"])
    assert f"succeeded · {RANKS} ranks on {len(HOSTS)} nodes" in printed
    experiment, record = way.record()
    assert (record["verdict"], record["nodes"]) == ("succeeded", list(HOSTS))
    for rank in range(RANKS):
        lines = (experiment / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        metrics = [json.loads(line) for line in lines]
        assert (metrics[0]["step"], metrics[-1]["step"]) == (1, STEPS)
        assert metrics[-1]["loss"] < metrics[0]["loss"]
    for node in range(len(HOSTS)):
        [log] = (experiment / "logs").glob(f"node_{node}_*.txt")
        assert f"rank{2 * node}" in log.read_text()
    job = json.loads((experiment / "plan.json").read_text())["jobs"]["n3"]
    assert job["runtime"] == way.policy["launch_runtime"]

    way.play("launch", follow=False, script_args=["--override", "training.steps=100000"])
    run_id = way.record()[1]["run_id"]
    wait_for(lambda: re.search(r" [1-9]\d*/100000 ", way.play("status", run_id=run_id)) is not None, "it trains", 240)
    shown = way.play("logs", lines=200)
    assert all(f"{host}/" in shown for host in HOSTS)
    if job["runtime"] == "docker":
        assert way.ask("n2", "sudo", "-n", "docker", "ps", "--quiet", "--filter", f"name=muster-{run_id}-1") != ""
    assert "stopped" in way.play("stop")
    for host in HOSTS:
        # Without sudo's own environment, which has this very command.
        look = f"grep -lsa MUSTER_RUN_ID={run_id} /proc/[0-9]*/environ || :"
        assert way.ask(host, "sudo", "-n", "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", look) == ""
    # Without containers the head alone is asked.
    assert set(changes(way.play("stop"))) == {0}
    way.play("collect")
    assert way.record()[1]["verdict"] == "stopped"
    assert changes(way.play("collect")) == [0, 0, 0]
