# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two controllers launch one run at the same moment: one of them wins, everywhere, and the other is told who."""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import Played

ROUNDS = int(os.environ.get("MUSTER_TEST_RACES", "8"))
# The loser may wait for its member's slot; meanwhile the next rounds play.
AT_ONCE = 3
LATER = "multinode_1ch_autoth_20261120_143053_later"


def meeting_point(meeting: Path) -> str:
    """Return a template for the task that starts the job: its four workers, of two nodes and two controllers, meet."""
    meeting.mkdir(parents=True)
    return f"{{{{ lookup('ansible.builtin.pipe', '{sys.executable} {WORKLOADS}/meet.py {meeting} 4') | from_json }}}}"


def race(home: Path) -> None:
    """Let two controllers meet where each starts its jobs, then look at what they left."""
    meeting = home / "meeting"
    policy = {
        "launch_secrets": meeting_point(meeting),
        "launch_workdir": str(home / "work") + "/{{ inventory_hostname }}",
    }
    rivals = []
    for name in ("a", "b"):
        (home / name).mkdir()
        rivals.append(Cluster(home / name, policy=policy))
    nodes = Cluster(home)  # for its eyes only: the work directories are the rivals'
    try:
        with ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(lambda rival: rival.launch(script_args="--seconds 3000"), rivals))
        assert len(list(meeting.iterdir())) == 4, "they met at another place"
        judge(nodes, rivals, ends)
    finally:
        nodes.destroy()


def judge(nodes: Cluster, rivals: list[Cluster], ends: list[Played]) -> None:
    """One controller has won, the run is its own on both nodes, and the other knows it."""
    outputs = "\n----\n".join(end.out for end in ends)
    assert sorted(end.rc == 0 for end in ends) == [False, True], outputs
    won = 0 if ends[0].rc == 0 else 1
    nonce = rivals[won].record()["nonce"]
    states = [nodes.state(node) for node in nodes.names]
    assert [(state["nonce"], state["phase"]) for state in states] == [(nonce, "running")] * 2, outputs
    alive = nodes.marks("MUSTER_NONCE")
    assert alive == [nonce] * 4, outputs
    # The loser may have been refused on one node before it asked the other.
    refusal = rf"node0( and node1)?: run: run {RUN_ID} is held by its launch {nonce[:8]} of {getpass.getuser()} since "
    assert re.search(refusal, " ".join(ends[1 - won].out.split())), outputs
    assert not (rivals[1 - won].experiments / RUN_ID).exists(), "the loser wrote an experiment"


def test_one_of_two_launches_wins_every_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(race, [tmp_path / f"round{number}" for number in range(ROUNDS)]))


@pytest.mark.parametrize("slots", [("one", "one"), pytest.param(("one", "two"), marks=pytest.mark.gate)])
def test_two_launches_at_once_from_one_directory(cluster: Cluster, slots: tuple[str, str]) -> None:
    """No run ID is given: of one slot one launch wins, of two slots both do, each with an experiment of its own."""
    cluster.policy["launch_secrets"] = meeting_point(cluster.home / "meeting")
    cluster.write()

    first, last = map(int, str(cluster.policy["launch_port_range"]).split("-"))
    middle = (first + last) // 2

    def launch(slot: str) -> Played:
        ports = f"{first}-{middle - 1}" if slot == "one" else f"{middle}-{last}"  # both choose while both are free
        policy = {"launch_slot": slot, "launch_port_range": ports}
        return cluster.verb("launch", follow=False, script_args="--seconds 3000", **policy)

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(launch, slots))
    outputs = "\n----\n".join(end.out for end in ends)
    winners = len(set(slots))
    assert [end.rc == 0 for end in ends].count(True) == winners, outputs
    runs = sorted(path.name for path in cluster.experiments.glob("sleeper_*"))
    assert len(runs) == winners, outputs
    plans = [json.loads((cluster.experiments / run / "plan.json").read_text()) for run in runs]
    assert [plan["run_id"] for plan in plans] == runs
    assert Counter(cluster.marks("MUSTER_NONCE")) == {plan["nonce"]: 4 for plan in plans}, outputs


def test_stop_without_a_run_id_stops_the_active_run_not_a_newer_dead_one(cluster: Cluster) -> None:
    lives = cluster.launch(script_args="--seconds 3000")
    assert lives.rc == 0, lives.out
    ends = cluster.launch(run_id=LATER, launch_slot="second", script_args="--seconds 0.1", follow=True)
    assert ends.rc == 0, ends.out
    status = cluster.verb("status")
    assert f"{LATER}  succeeded" in status.out
    stopped = cluster.verb("stop")
    assert stopped.rc == 0, stopped.out
    assert f"{RUN_ID}  stopped" in stopped.out
    assert cluster.processes() == []
