# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two launches that meet at one lock only: of one run in two slots, or of two runs with opposite heads."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import Played

OTHER = "multinode_42ch_autoth_20261120_143052_other"
NODES = ["node0", "node1"]


@dataclass
class Meeting:
    """Two controllers of the same two nodes, and how each launches its run."""

    home: Path

    def __post_init__(self) -> None:
        self.nodes = Cluster(self.home)  # for its eyes only: the work directories are the rivals'
        self.place = self.home / "meeting"
        self.place.mkdir()

    def rival(self, name: str, nodes: list[str]) -> Cluster:
        """Return a controller that waits, where it starts its jobs, for the other one: two nodes' workers of each."""
        home = self.home / name
        home.mkdir()
        meet = f"{sys.executable} {WORKLOADS}/meet.py {self.place} 4"
        policy = {
            "launch_secrets": f"{{{{ lookup('ansible.builtin.pipe', '{meet}') | from_json }}}}",
            "launch_workdir": str(self.home / "work") + "/{{ inventory_hostname }}",
        }
        return Cluster(home, names=nodes, policy=policy)

    def launch(self, rivals: list[Cluster], parameters: list[dict[str, Any]]) -> int:
        """Launch both at once and return which one has won, alone; the other has left nothing."""
        with ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(_launch, rivals, parameters))
        assert len(list(self.place.iterdir())) == 4, "they met at another place"
        outputs = "\n----\n".join(end.out for end in ends)
        assert sorted(end.rc == 0 for end in ends) == [False, True], outputs
        won = 0 if ends[0].rc == 0 else 1
        self.refusal = " ".join(ends[1 - won].out.split())
        run_id = parameters[won].get("run_id", RUN_ID)
        self.nonce = rivals[won].record(run_id)["nonce"]
        self.check_state(run_id, "running")
        assert self.nodes.marks("MUSTER_NONCE") == [self.nonce] * 4, outputs
        assert not list(rivals[1 - won].experiments.glob("*_20*")), "the loser wrote an experiment"
        return won

    def check_state(self, run_id: str, phase: str) -> None:
        """Check that the state of both nodes is the winner's, and this one."""
        self.nodes.wait_phase(run_id, phase)
        assert [self.nodes.state(node, run_id)["nonce"] for node in NODES] == [self.nonce] * 2


def _launch(rival: Cluster, parameters: dict[str, Any]) -> Played:
    return rival.launch(script_args="--seconds 3000", **parameters)


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[Meeting]:
    made = Meeting(tmp_path)
    yield made
    made.nodes.destroy()


def test_one_run_in_two_slots_is_that_of_one_launch(meeting: Meeting) -> None:
    rivals = [meeting.rival(name, NODES) for name in ("a", "b")]
    won = meeting.launch(rivals, [{}, {"launch_slot": "second"}])
    assert f"run {RUN_ID} is held by its launch {meeting.nonce[:8]} of {getpass.getuser()} since " in meeting.refusal
    # A member of the loser that still waited would have the run's lock now, and overwrite the winner's state.
    stopped = rivals[won].verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    meeting.check_state(RUN_ID, "stopped")
    assert meeting.nodes.processes() == []


def test_of_two_launches_with_opposite_heads_one_wins(meeting: Meeting) -> None:
    rivals = [meeting.rival("a", NODES), meeting.rival("b", NODES[::-1])]
    run_ids = [RUN_ID, OTHER]
    won = meeting.launch(rivals, [{"run_id": run_id} for run_id in run_ids])
    assert f"slot default is held by run {run_ids[won]} of {getpass.getuser()} since " in meeting.refusal
