# SPDX-License-Identifier: GPL-3.0-or-later
"""One real host, over ssh as a user with sudo: setup, a training in its container, stop and teardown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.real_hosts import as_root
from ansible_collections.muster.train.tests.support.way import Way, changes

STEPS = 3
# A role for a playbook of the user's own: no verb writes these files.
ENVIRONMENT = """
- name: Write the environment
  hosts: nodes
  gather_facts: false
  roles: [muster.train.nccl_env]
"""


@pytest.mark.hosts
@pytest.mark.gate
# The limit excludes the fixture, which builds the host's image.
@pytest.mark.timeout(300, func_only=True)
def test_from_setup_to_teardown(single_inventory: Path, tmp_path: Path) -> None:
    way = Way(single_inventory, "docker", tmp_path)
    predicted = changes(way.play("setup", "--check"))
    assert all(predicted)
    assert changes(way.play("setup")) == predicted
    assert changes(way.play("setup")) == [0]
    playbook = tmp_path / "environment.yml"
    playbook.write_text(ENVIRONMENT)
    way.play(str(playbook), nccl_env_dir="~/way/env")

    policy = yaml.safe_load((way.inventory / "group_vars" / "nodes.yml").read_text())
    limit = as_root(way.inventory, "n1", "cat /etc/security/limits.d/95-muster-memlock.conf")
    assert f" memlock {policy['memlock_limit'].removesuffix('KiB')}\n" in limit
    code = "/home/ann/way/docker/code"
    assert as_root(way.inventory, "n1", f"stat --format %U {code}/train.py").strip() == "ann"
    names = as_root(way.inventory, "n1", "cd /home/ann/way/env && ls && grep -c '^export NCCL_' nccl.sh").split()
    assert names[:-1] == ["nccl.conf", "nccl.env", "nccl.sh"]
    assert int(names[-1]) > 0

    way.play("launch", channels=42, script_args=["--override", f"training.steps={STEPS}"])
    experiment, record = way.record()
    assert (record["verdict"], record["nodes"], record["world_size"]) == ("succeeded", ["n1"], 2)
    for rank in range(2):
        lines = (experiment / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        assert (json.loads(lines[0])["step"], json.loads(lines[-1])["step"]) == (1, STEPS)

    way.play("launch", follow=False, script_args=["--override", "training.steps=100000"])
    run_id = way.record()[1]["run_id"]
    container = f"muster-{run_id}-0"
    limits = as_root(way.inventory, "n1", f"docker inspect --format '{{{{json .HostConfig.Ulimits}}}}' {container}")
    [memlock] = [item for item in json.loads(limits) if item["Name"] == "memlock"]
    assert memlock["Hard"] == policy["container_memlock"]
    trains = f"cat /home/ann/way/docker/.muster/nodes/n1/runs/{run_id}/outputs/*_metrics.jsonl 2>/dev/null || :"
    wait_for(lambda: as_root(way.inventory, "n1", trains) != "", "it trains", 120)
    way.play("stop")
    assert as_root(way.inventory, "n1", "docker ps --quiet").split() == []
    assert way.record()[1]["verdict"] == "stopped"
    way.play("teardown", days=0)
    assert as_root(way.inventory, "n1", "ls /home/ann/way/docker/.muster/nodes/n1/runs").split() == []
