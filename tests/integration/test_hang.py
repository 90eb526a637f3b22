# SPDX-License-Identifier: GPL-3.0-or-later
"""hang_watch on real ranks of Gloo: the rank that leaves the collective is named, and no slow one is."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

# Four ranks on two nodes; rank 3, on node1, leaves.
RANKS = {"launcher": "torchrun", "nproc": 2, "script": "leaver.py"}


def launch(cluster: Cluster, *arguments: str, **parameters: Any) -> None:
    launched = cluster.launch(script_args=list(arguments), **{**RANKS, "hang_watch": 2, **parameters})
    assert launched.rc == 0, launched.out


def hang_of(cluster: Cluster) -> dict[str, Any]:
    return cluster.state("node0").get("hang") or {}


@pytest.mark.gate
def test_the_rank_that_leaves_a_collective_is_named(cluster: Cluster) -> None:
    launch(cluster, "--leaves", "3", "--after", "5")
    hang = wait_for(lambda: hang_of(cluster), "the head has found out")
    collective = hang["collective"]
    # The barrier, and five calls of all_reduce that all have entered.
    assert (collective["op"], collective["seq"], hang["waiting"], hang["absent"]) == ("all_reduce", 7, [0, 1, 2], [3])
    assert (hang["node"], [place["frame"]["function"] for place in hang["positions"]]) == ("node1", ["leave"])
    before = cluster.identities()
    shown = cluster.play("playbooks/status.yml", "-e", json.dumps({"output": "json"}), apart=True)
    document = json.loads(shown.out)
    assert documents.errors(document) == []
    assert {key: document["hang"][key] for key in hang} == hang
    played = cluster.verb("status")
    assert "ranks 0-2 wait in all_reduce #7, rank 3 never entered it: leave (leaver.py:" in played.out
    assert cluster.identities() == before
    assert cluster.verb("stop").rc == 0
    assert cluster.verb("collect").rc == 0
    kept = sorted(path.name for path in (cluster.experiments / RUN_ID).glob(f"nodes/*/hangs/{hang['folder']}/rank_*"))
    assert kept == [name for rank in range(4) for name in (f"rank_0{rank}.txt", f"rank_0{rank}_collectives.json")]


def test_a_run_that_hangs_is_ended_if_the_policy_says_so(cluster: Cluster) -> None:
    launch(cluster, "--leaves", "3", "--after", "5", hang_action="stop")
    ended = cluster.play("playbooks/follow.yml", "-e", json.dumps({"output": "json"}), apart=True)
    document = json.loads(ended.out)
    assert documents.errors(document) == []
    verdict = document["verdict"]
    assert (ended.rc, verdict["verdict"], verdict["node"], verdict["rank"]) == (2, "failed", "node1", 3)
    assert re.fullmatch(
        r"node1: hung: ranks 0-2 wait in all_reduce #7, rank 3 never entered it: leave \(leaver\.py:\d+\)",
        verdict["why"],
    )
    assert document["hang"]["is_stopped"]
    wait_for(lambda: not cluster.processes(), "nothing is left")


def test_a_slow_run_is_not_accused(cluster: Cluster) -> None:
    """Every step takes several times as long as the watch allows, and nothing is printed meanwhile."""
    launch(cluster, "--computes", "3", "--after", "2", "--seconds", "12")
    wait_for(lambda: cluster.state("node0")["phase"] == "succeeded", "it ends by itself")
    assert cluster.state("node0")["hang"] is None
    assert not [*cluster.home.glob("work/*/.muster/nodes/*/runs/*/hangs/*")]


def test_it_can_be_turned_off(cluster: Cluster) -> None:
    launch(cluster, "--leaves", "3", "--after", "1", hang_watch=0)
    job = json.loads((cluster.run_dir("node0") / "job.json").read_text())
    environment = {item["name"] for item in job["environment"]}
    assert not {name for name in environment if name.startswith(("TORCH_FR", "TORCH_NCCL", "MUSTER_HANG"))}
    assert cluster.verb("stop").rc == 0
