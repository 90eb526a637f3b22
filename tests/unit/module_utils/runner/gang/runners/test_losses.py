# SPDX-License-Identifier: GPL-3.0-or-later
"""A gang that loses a runner, a node or the head: the others end and name it, or continue without it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.gang import SLEEP, Make, python

pytestmark = pytest.mark.slow


def test_a_killed_runner_is_lost_and_the_others_are_stopped(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, SLEEP)
    running.start()
    running.wait_phase("running")
    running.runners[1].kill()
    assert [running.runners[rank].wait(60) for rank in (0, 2)] == [0, 0]
    end = running.state(2)["end"]
    assert (end["verdict"], end["node"]) == ("lost", "node1")
    assert end["why"].startswith("node1: ")


def test_a_frozen_runner_is_lost_and_does_not_rejoin(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, lost_after=6)
    running.start()
    running.wait_phase("running")
    running.runners[1].send_signal(signal.SIGSTOP)
    assert running.runners[0].wait(60) == 0
    end = running.state(0)["end"]
    assert (end["verdict"], end["node"], end["rank"]) == ("lost", "node1", None)
    running.runners[1].send_signal(signal.SIGCONT)
    assert running.runners[1].wait(60) == 0
    assert running.phases() == ["stopped", "stopped"]
    assert running.state(1)["end"]["verdict"] == "lost"


def test_the_members_end_themselves_without_their_head(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, SLEEP)
    running.start()
    running.wait_phase("running")
    running.runners[0].kill()
    assert [running.runners[rank].wait(60) for rank in (1, 2)] == [0, 0]
    for rank in (1, 2):
        assert running.state(rank)["phase"] == "stopped"
        assert running.state(rank)["end"]["why"].startswith("the head's runner is gone: ")


def test_a_frozen_head_is_lost_too(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, lost_after=6)
    running.start()
    running.wait_phase("running")
    running.runners[0].send_signal(signal.SIGSTOP)
    assert running.runners[1].wait(60) == 0
    assert running.state(1)["end"]["why"] == "no sign of life from the head's runner for 6 s"
    running.runners[0].send_signal(signal.SIGCONT)
    assert running.runners[0].wait(60) == 0
    end = running.state(0)["end"]
    assert (end["verdict"], end["node"]) == ("lost", "node0"), "it does not blame the nodes that gave it up"
    assert end["why"].startswith("node0: its runner was paused for ")


def test_a_briefly_paused_head_still_names_a_node_that_dies(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, lost_after=6)
    running.start()
    running.wait_phase("running")
    running.runners[0].send_signal(signal.SIGSTOP)
    time.sleep(3.5)
    running.runners[0].send_signal(signal.SIGCONT)
    time.sleep(0.5)
    running.runners[1].kill()
    assert running.runners[0].wait(60) == 0
    end = running.state(0)["end"]
    assert (end["verdict"], end["node"]) == ("lost", "node1"), end["why"]


def test_a_head_that_is_asked_to_stop_before_it_listens_writes_the_verdict(gang: Make) -> None:
    running = gang(SLEEP, SLEEP)
    job = running.jobs[0]
    os.makedirs(job.run_dir)
    (Path(job.run_dir) / f"stop.{job.nonce}").touch()
    running.start(0)
    assert running.codes() == [0]
    state = running.state(0)
    assert (state["phase"], state["end"]["verdict"], state["end"]["why"]) == (
        "stopped",
        "stopped",
        "stop requested",
    )
    assert not {"reserve", f"stop.{job.nonce}"} & set(os.listdir(job.run_dir))


def test_a_member_that_is_never_lost_continues_alone(gang: Make) -> None:
    running = gang(SLEEP, python("import time; time.sleep(4)"), lost_after=0)
    running.start()
    running.wait_phase("running")
    running.runners[0].kill()
    assert running.runners[1].wait(60) == 0
    state = running.state(1)
    assert state["phase"] == "succeeded"
    assert state["end"]["verdict"] is None, "how its part ended says nothing about the run"
    assert state["end"]["why"].endswith("it continued on its own")


def test_a_head_that_never_loses_nodes_continues_without_a_member(gang: Make) -> None:
    running = gang(python("import time; time.sleep(4)"), SLEEP, lost_after=0)
    running.start()
    running.wait_phase("running")
    running.runners[1].kill()
    assert running.runners[0].wait(60) == 0
    state = running.state(0)
    assert state["phase"] == "succeeded"
    assert (state["end"]["verdict"], state["end"]["node"]) == ("lost", "node1")
