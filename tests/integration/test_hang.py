# SPDX-License-Identifier: GPL-3.0-or-later
"""hang_watch on real ranks of Gloo: who waits for whom is said, and no rank is accused that may come."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

# Four ranks on two nodes; rank 3, on node1, leaves.
RANKS = {"launcher": "torchrun", "nproc": 2, "script": "leaver.py"}


def launch(cluster: Cluster, *arguments: str, **parameters: Any) -> None:
    launched = cluster.launch(script_args=list(arguments), **{**RANKS, "hang_watch": 2, **parameters})
    assert launched.rc == 0, launched.out


def look_for(cluster: Cluster, **parts: Any) -> dict[str, Any]:
    """Wait until the head says this of the run, whose ranks it may have seen before, at their start."""

    def look() -> dict[str, Any] | None:
        hang = cluster.state("node0").get("hang") or {}
        return hang if parts.items() <= hang.items() else None

    hang: dict[str, Any] = wait_for(look, f"the head says {parts}")
    return hang


def activities(hang: dict[str, Any]) -> list[tuple[list[int], str | None]]:
    return [(place["ranks"], place["activity"]) for place in hang["positions"]]


@pytest.mark.gate
def test_the_rank_that_leaves_a_collective_is_named(cluster: Cluster) -> None:
    launch(cluster, "--leaves", "3", "--after", "5")
    hang = look_for(cluster, absent=[3], is_moving=False)
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
    assert "ranks 0-2 wait in all_reduce #7, rank 3 has not entered it: leave (leaver.py:" in played.out
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
        r"node1: no step and no output for \d+ s: ranks 0-2 wait in all_reduce #7, "
        r"rank 3 has not entered it: leave \(leaver\.py:\d+\)",
        verdict["why"],
    )
    assert document["hang"]["is_stopped"]
    wait_for(lambda: not cluster.processes(), "nothing is left")


def test_a_run_that_hangs_is_kept_for_a_debugger_and_the_gpus_are_looked_at(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = cluster.home / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    # Only without arguments: the facts of the nodes and their telemetry have no GPU.
    tool.write_text('#!/bin/sh\n[ "$#" = 0 ] && echo "GPU 0: 97 %"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    launch(cluster, "--leaves", "3", "--after", "5", hang_action="keep", time_limit=30)
    hang = look_for(cluster, absent=[3], is_moving=False)
    before, limit = cluster.identities(), time.monotonic() + 30
    wait_for(lambda: time.monotonic() > limit + 5, "the time limit is over")
    states = [cluster.state(name) for name in cluster.names]
    assert [(state["phase"], state.get("why")) for state in states] == [("running", None)] * 2
    assert cluster.identities() == before
    assert cluster.verb("stop").rc == 0
    assert cluster.verb("collect").rc == 0
    kept = (cluster.experiments / RUN_ID).glob(f"nodes/*/hangs/{hang['folder']}/nvidia-smi.txt")
    assert [path.read_text() for path in kept] == ["GPU 0: 97 %\n"] * 2


def test_a_rank_that_computes_is_only_said_to_do_so_and_stopped_by_no_policy(cluster: Cluster) -> None:
    """Every step takes several times as long as the watch allows, and nothing is printed meanwhile."""
    launch(cluster, "--computes", "3", "--after", "2", "--seconds", "12", hang_action="stop")
    hang = look_for(cluster, absent=[3])
    # Its loop has several lines.
    assert (activities(hang)[0] in [([3], "computes"), ([3], "moves")], hang["is_moving"]) == (True, True)
    wait_for(lambda: cluster.state("node0")["phase"] == "succeeded", "it ends by itself")


@pytest.mark.parametrize("option", ["--differs", "--swaps"])
def test_ranks_that_can_never_meet_hang(cluster: Cluster, option: str) -> None:
    launch(cluster, option, "3", "--after", "5")
    hang = look_for(cluster, is_certain=True)
    assert 3 in hang["waiting"] + hang["absent"]
    assert "hangs: no step and no output for" in cluster.verb("status").out
    assert cluster.verb("stop").rc == 0


def test_what_goes_on_is_no_longer_said_to_wait(cluster: Cluster) -> None:
    launch(cluster, "--stops", "3", "--after", "5")
    hang = look_for(cluster, waiting=[0, 1, 2], is_moving=False)
    assert (activities(hang), hang["is_certain"]) == ([([3], "stopped")], False)
    for process in cluster.processes():
        if process_tree.environment(process.pid).get("RANK") == "3":
            os.kill(process.pid, signal.SIGCONT)
    wait_for(lambda: cluster.state("node0")["phase"] == "succeeded", "it ends by itself")


def test_it_can_be_turned_off(cluster: Cluster) -> None:
    launch(cluster, "--leaves", "3", "--after", "1", hang_watch=0)
    job = json.loads((cluster.run_dir("node0") / "job.json").read_text())
    environment = {item["name"] for item in job["environment"]}
    assert not {name for name in environment if name.startswith(("TORCH_FR", "TORCH_NCCL", "MUSTER_HANG"))}
    assert cluster.verb("stop").rc == 0
