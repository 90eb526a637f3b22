# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches at the same moment: where they want the same, one wins on all nodes, and the other knows it."""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import Played

# They play at once; the stage `faults` has hundreds, of runners without Ansible.
ROUNDS = int(os.environ.get("MUSTER_TEST_RACES", "3"))
AT_ONCE = 3
OTHER = "multinode_42ch_autoth_20261120_143052_other"
NODES = ("node0", "node1")


def meeting_point(meeting: Path) -> str:
    """Return a template for the task that starts the job: its four workers, of two nodes and two controllers, meet."""
    meeting.mkdir(parents=True)
    return f"{{{{ lookup('ansible.builtin.pipe', '{sys.executable} {WORKLOADS}/meet.py {meeting} 4') | from_json }}}}"


class Race:
    """Two controllers of the same two nodes, which meet where each starts its jobs."""

    def __init__(self, home: Path, second_nodes: tuple[str, ...] = NODES) -> None:
        self.place = home / "meeting"
        policy = {
            "launch_secrets": meeting_point(self.place),
            "launch_workdir": str(home / "work") + "/{{ inventory_hostname }}",
        }
        self.rivals = []
        for name, nodes in (("a", NODES), ("b", second_nodes)):
            (home / name).mkdir()
            self.rivals.append(Cluster(home / name, names=list(nodes), policy=policy))
        self.nodes = Cluster(home)  # for its eyes only: the work directories are the rivals'

    def launch(self, *parameters: dict[str, Any]) -> int:
        """Launch both at once and return which one has won, alone; the other has left nothing."""
        with ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(_launch, self.rivals, parameters))
        assert len(list(self.place.iterdir())) == 4, "they met at another place"
        outputs = "\n----\n".join(end.out for end in ends)
        assert sorted(end.rc == 0 for end in ends) == [False, True], outputs
        won = 0 if ends[0].rc == 0 else 1
        self.refusal = ends[1 - won].words
        run_id = parameters[won].get("run_id", RUN_ID)
        self.nonce = self.rivals[won].record(run_id)["nonce"]
        self.check_state(run_id, "running")
        assert self.nodes.marks("MUSTER_NONCE") == [self.nonce] * 4, outputs
        assert not list(self.rivals[1 - won].experiments.glob("*_20*")), "the loser wrote an experiment"
        return won

    def check_state(self, run_id: str, phase: str) -> None:
        """Check that the state of both nodes is the winner's, and this one."""
        states = [self.nodes.state(node, run_id) for node in NODES]
        assert [(state["nonce"], state["phase"]) for state in states] == [(self.nonce, phase)] * 2, self.refusal


def _launch(rival: Cluster, parameters: dict[str, Any]) -> Played:
    return rival.launch(script_args="--seconds 3000", **parameters)


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[list[Path]]:
    """Directories for the rounds of a race, and the end of what runs in them."""
    homes = [tmp_path / f"round{number}" for number in range(ROUNDS)]
    yield homes
    for home in filter(Path.exists, homes):
        Cluster(home).destroy()


def test_one_of_two_launches_wins_every_time(homes: list[Path]) -> None:
    def race(home: Path) -> None:
        race = Race(home)
        race.launch({}, {})
        # The loser may have been refused on one node before it asked the other.
        held = rf"run {RUN_ID} is held by its launch {race.nonce[:8]} of {getpass.getuser()} since "
        assert re.search(rf"node0( and node1)?: run: {held}", race.refusal), race.refusal
        race.nodes.destroy()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(race, homes))


def test_one_run_in_two_slots_is_that_of_one_launch(homes: list[Path]) -> None:
    race = Race(homes[0])
    won = race.launch({}, {"launch_slot": "second"})
    assert f"run {RUN_ID} is held by its launch {race.nonce[:8]} of {getpass.getuser()} since " in race.refusal
    # A member of the loser that still waited would have the run's lock now, and overwrite the winner's state.
    stopped = race.rivals[won].verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    race.check_state(RUN_ID, "stopped")
    assert race.nodes.processes() == []


def test_of_two_launches_with_opposite_heads_one_wins(homes: list[Path]) -> None:
    race = Race(homes[0], NODES[::-1])
    run_ids = [RUN_ID, OTHER]
    won = race.launch(*({"run_id": run_id} for run_id in run_ids))
    assert f"slot default is held by run {run_ids[won]} of {getpass.getuser()} since " in race.refusal


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
