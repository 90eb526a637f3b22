# SPDX-License-Identifier: GPL-3.0-or-later
"""`launch -e wait=TIME`: launches that wait for a slot get it one after the other, in the order of their starts."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import tickets
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.terminal import on_terminal

FIRST, SECOND = f"{RUN_ID}1", f"{RUN_ID}2"
LATER = "multinode_1ch_autoth_20261120_143053_later"
SLEEP = "--seconds 3000"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster of all tests here: `held` or `free`."""
    cluster = Cluster(tmp_path_factory.mktemp("queue"))
    yield cluster
    cluster.destroy()


@pytest.fixture
def held(nodes: Cluster) -> Iterator[Cluster]:
    """The cluster whose slot a run holds, and its empty queue."""
    if nodes.state("node0").get("phase") != "running":
        release(nodes)
        launched = nodes.launch(script_args=SLEEP)
        assert launched.rc == 0, launched.out
    yield nodes
    clear(nodes)


@pytest.fixture
def free(nodes: Cluster) -> Iterator[Cluster]:
    """The cluster whose slot no run holds, and its empty queue."""
    release(nodes)
    yield nodes
    clear(nodes)


def release(cluster: Cluster) -> None:
    """Stop the run that holds the slot, if any."""
    if cluster.processes():
        assert cluster.verb("stop").rc == 0


def queue(cluster: Cluster, node: str) -> Path:
    return Path(tickets.queue_path(str(cluster.home / "work" / node), node, "default"))


def waiting(cluster: Cluster) -> list[int]:
    """Return how many launches wait on each node."""
    return [len(list(queue(cluster, node).glob("*.json"))) for node in cluster.names]


def clear(cluster: Cluster) -> None:
    """Remove tickets that a test has left: they would keep the slot."""
    wait_for(lambda: cluster.controllers() == [], "no controller is left to renew them", 60)
    for node in cluster.names:
        for ticket in queue(cluster, node).glob("*.json"):
            ticket.unlink()


def end(process: subprocess.Popen[str]) -> str:
    """Return what a launch printed, which must succeed."""
    out, _err = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out


def test_a_launch_whose_time_is_over_names_the_run_and_leaves_the_queue(held: Cluster) -> None:
    launched = held.launch(run_id=FIRST, wait=8)
    assert launched.rc == 2
    (message,) = launched.messages
    assert message.startswith(f"node0: slot: slot default is held by run {RUN_ID} of ")
    assert "; expected a free slot within 8 s (-e wait); wait for longer, or stop it: " in message
    assert waiting(held) == [0, 0]
    assert not held.run_dir("node0", FIRST).exists()


def test_ctrl_c_leaves_the_queue(held: Cluster) -> None:
    pressed: list[str] = []

    def press(screen: str) -> bytes:
        if "waiting on node0" not in screen or pressed:
            return b""
        assert waiting(held) == [1, 1]
        pressed.append(screen)
        return b"\x03"

    launched = on_terminal(held, press, "playbooks/launch.yml", "-e", f"run_id={FIRST} wait=10m")
    assert launched.rc == 2, launched.out
    assert f"{FIRST} has left the queue; nothing was started" in launched.out
    assert waiting(held) == [0, 0]
    assert held.state("node0")["phase"] == "running"


def test_a_launch_that_is_killed_keeps_nobody_waiting_for_long(held: Cluster) -> None:
    launch = held.begin("launch", run_id=FIRST, wait="10m", follow=False)
    wait_for(lambda: waiting(held) == [1, 1], "it waits on all nodes")
    launch.send_signal(signal.SIGKILL)
    launch.communicate(timeout=60)
    [ticket] = tickets.list_tickets(str(queue(held, "node0")))
    assert (ticket["run_id"], ticket["admitted"]) == (FIRST, False)
    assert ticket["until"] - time.time() <= 300


def test_stop_without_a_run_id_stops_the_active_run_not_a_newer_one_that_has_ended(held: Cluster) -> None:
    ended = held.launch(run_id=LATER, launch_slot="second", script_args="--seconds 0.1", follow=True)
    assert ended.rc == 0, ended.out
    assert f"{LATER}  succeeded" in held.verb("status").out
    stopped = held.verb("stop")
    assert stopped.rc == 0, stopped.out
    phases = {run_id: [held.state(node, run_id)["phase"] for node in held.names] for run_id in (RUN_ID, LATER)}
    assert phases == {RUN_ID: ["stopped", "stopped"], LATER: ["succeeded", "succeeded"]}
    assert held.processes() == []


def test_a_launch_that_does_not_wait_gets_no_slot_that_is_kept_for_an_older_one(free: Cluster) -> None:
    older = {"run_id": SECOND, "nonce": "0" * 32, "created": "2026-01-01T00:00:00Z", "user": "ann"}
    queue(free, "node1").mkdir(parents=True, exist_ok=True)
    tickets.renew(str(queue(free, "node1")), older, 600, admitted=True)
    launched = free.launch(run_id=FIRST, script_args=SLEEP)
    assert launched.rc == 2
    kept = (
        "node1: slot: slot default is reserved for run {} of ann since 2026-01-01T00:00:00Z, which is about to start; "
    )
    assert kept.format(SECOND) in launched.out
    assert "launch with -e wait=2h, which queues for it" in launched.out
    assert not free.run_dir("node0", FIRST).exists(), "the plan refuses it"
    wait_for(lambda: free.marks("MUSTER_RUN_ID") == [], "no process of a run is left")


@pytest.mark.gate
def test_launches_that_wait_take_turns_in_their_order(held: Cluster) -> None:
    first = held.begin("launch", run_id=FIRST, wait="10m", follow=False, script_args=SLEEP)
    wait_for(lambda: waiting(held) == [1, 1], "the first launch waits on all nodes")
    second = held.begin("launch", run_id=SECOND, wait="10m", follow=False, script_args=SLEEP)
    wait_for(lambda: waiting(held) == [2, 2], "the second one, too")
    status = held.verb("status", run_id=RUN_ID)
    waits = re.findall(r"^  (\S+) of \S+ since \S+Z waits for slot default$", status.out, re.MULTILINE)
    assert waits == [FIRST, SECOND], status.out
    assert held.verb("stop", run_id=RUN_ID).rc == 0
    printed = end(first)
    assert f"waiting on node0: slot default is held by run {RUN_ID} of " in printed
    held.wait_phase(FIRST, "running")
    assert second.poll() is None
    assert waiting(held) == [1, 1], "a launch that has started has no ticket"
    assert held.verb("stop", run_id=FIRST).rc == 0
    printed = end(second)
    assert "; 1 more launch ahead; " in printed
    held.wait_phase(SECOND, "running")
    assert waiting(held) == [0, 0]
