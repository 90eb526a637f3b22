# SPDX-License-Identifier: GPL-3.0-or-later
"""The gang with real runners and sockets: all nodes start together or none does, and they end together."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import heartbeat_s
from ansible_collections.muster.train.tests.support.gang import SLEEP, Make, python
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("nnodes", [2, 256, 257, 1000])
@pytest.mark.parametrize("lost_after", [1, 5, 12, 60])
def test_three_heartbeats_are_missed_before_a_node_is_lost(nnodes: int, lost_after: int) -> None:
    assert 0 < 3 * heartbeat_s(nnodes, lost_after) <= lost_after


def test_no_launcher_starts_before_all_nodes_have_joined(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, SLEEP)
    running.start(0, 2)
    wait_for(
        lambda: running.state(2).get("why") == "joined; the head is waiting for the other nodes", "node2 has joined"
    )
    why = "1 of 3 nodes have not joined yet: node1"
    wait_for(lambda: running.state(0).get("why") == why, "the head says whom it waits for")
    assert running.phases() == ["waiting", None, "waiting"]
    running.start(1)
    running.wait_phase("running")
    wait_for(lambda: running.state(0)["gang"] is not None, "the head knows that all run")
    assert running.state(0)["gang"]["started"] == 3


def test_all_nodes_succeed(gang: Make) -> None:
    running = gang(python("pass"), python("import time; time.sleep(1)"))
    running.start()
    assert running.codes() == [0, 0]
    assert running.phases() == ["succeeded", "succeeded"]
    for rank in range(2):
        assert running.state(rank)["end"] == {"verdict": "succeeded", "why": "", "node": None, "rank": None}


def test_all_nodes_learn_which_node_failed(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, python("import time; time.sleep(0.5); print('no GPU'); raise SystemExit(7)"))
    running.start()
    assert running.codes() == [0, 0, 1]
    assert running.phases() == ["stopped", "stopped", "failed"]
    why = running.state(0)["why"]
    for rank in range(3):
        assert running.state(rank)["end"] == {"verdict": "failed", "why": why, "node": "node2", "rank": None}
    assert why.startswith("node2: ") and why.endswith(": no GPU")
    [report] = running.state(0)["gang"]["reports"]
    assert (report["node"], report["exit_code"]) == ("node2", 7)


def test_a_command_that_is_missing_on_one_node_fails_the_run(gang: Make) -> None:
    running = gang(SLEEP, ["/no/such/python"])
    running.start()
    assert running.codes() == [0, 1]
    assert running.state(0)["end"]["why"].startswith("node1: cannot start /no/such/python in ")


def test_a_stop_on_one_node_is_a_stop_on_all(gang: Make) -> None:
    running = gang(SLEEP, SLEEP)
    running.start()
    running.wait_phase("running")
    job = running.jobs[1]
    Path(f"{job.run_dir}/stop.{job.nonce}").write_text(json.dumps({"why": "stop requested", "grace": 5}))
    assert running.codes() == [0, 0]
    assert running.phases() == ["stopped", "stopped"]
    assert [running.state(rank)["end"]["verdict"] for rank in range(2)] == ["stopped", "stopped"]
    assert running.state(0)["why"] == "stop requested"


@pytest.mark.parametrize("rank", [0, 1])
def test_a_stop_before_all_have_joined_wins(gang: Make, rank: int) -> None:
    running = gang(SLEEP, SLEEP, SLEEP)
    running.start(0, 1)
    wait_for(
        lambda: running.state(1).get("why") == "joined; the head is waiting for the other nodes", "node1 has joined"
    )
    running.runners[rank].send_signal(signal.SIGTERM)
    assert running.codes() == [0, 0]
    assert running.phases() == ["stopped", "stopped", None]
    assert [running.state(rank).get("started") for rank in range(3)] == [None] * 3


def test_a_member_that_is_asked_to_stop_before_it_joins_stops_the_run(gang: Make) -> None:
    running = gang(SLEEP, SLEEP, SLEEP)
    running.start(0, 2)
    wait_for(
        lambda: running.state(2).get("why") == "joined; the head is waiting for the other nodes", "node2 has joined"
    )
    job = running.jobs[1]
    Path(job.run_dir).mkdir(parents=True)
    Path(f"{job.run_dir}/stop.{job.nonce}").write_text("{}")
    running.start(1)
    assert running.codes() == [0, 0, 0]
    assert running.phases() == ["stopped"] * 3
    assert [running.state(rank).get("started") for rank in range(3)] == [None] * 3


def test_a_stop_request_of_the_last_member_to_join_prevents_the_start(gang: Make) -> None:
    running = gang(SLEEP, SLEEP)
    running.start(0)
    wait_for(lambda: "have not joined" in str(running.state(0).get("why")), "the head waits")
    job = running.jobs[1]
    Path(job.run_dir).mkdir(parents=True)
    Path(f"{job.run_dir}/stop.{job.nonce}").write_text("{}")
    running.start(1)
    assert running.codes() == [0, 0]
    assert running.phases() == ["stopped", "stopped"]
    assert [running.state(rank)["started"] for rank in range(2)] == [None, None]


def test_messages_with_any_characters_reach_the_other_nodes(gang: Make) -> None:
    """A message with any characters is shortened to fit into a frame."""
    message = "\U0001f525\u2500\x01" * 2000
    running = gang(SLEEP, python(f"print({message!r}); raise SystemExit(7)"))
    running.start()
    assert running.codes() == [0, 1]
    end = running.state(0)["end"]
    assert (end["verdict"], end["node"]) == ("failed", "node1")
    assert ": \U0001f525\u2500" in end["why"]


def test_a_failure_is_reported_while_torchrun_still_stops_its_ranks(gang: Make) -> None:
    """torchrun gives the other ranks 30 s; the other nodes do not wait for that."""
    code = """
import json, os, sys, time
report = int(os.environ["MUSTER_REPORT_FD"])
os.write(report, b'[{"closing": true}]\\n')
while not os.path.exists("go"):
    time.sleep(0.05)
os.write(report, json.dumps([{"rank": 1, "local_rank": 0, "code": 7, "time": 1.0, "error": None}]).encode())
sys.exit(1)
"""
    running = gang(SLEEP, python(code))
    running.start()
    running.wait_phase("drained", 0)
    assert running.state(0)["why"] == "node1: a rank failed; torchrun is stopping the node's other ranks"
    Path(running.jobs[1].code_dir, "go").touch()
    assert running.codes() == [0, 1]
    assert (running.state(0)["end"]["node"], running.state(0)["end"]["rank"]) == ("node1", 1)


def test_a_failure_is_reported_even_if_a_stop_comes_first(gang: Make) -> None:
    code = """
import json, os, signal, sys, time
def on_sigterm(*_):
    record = {"rank": 1, "local_rank": 0, "code": 7, "time": 1.0, "error": None}
    os.write(int(os.environ["MUSTER_REPORT_FD"]), json.dumps([record]).encode())
    sys.exit(1)
signal.signal(signal.SIGTERM, on_sigterm)
open("up", "w").close()
time.sleep(600)
"""
    running = gang(python("import time; time.sleep(1); raise SystemExit(5)"), python(code))
    running.start()
    assert running.codes() == [1, 1]
    assert running.phases() == ["failed", "failed"]
    assert running.state(1)["first"]["rank"] == 1


def test_a_member_with_another_key_is_refused(gang: Make) -> None:
    running = gang(SLEEP, SLEEP)
    running.start(0)
    running.start(1, key="another key")
    assert running.runners[1].wait(60) == 1
    assert running.state(1)["phase"] == "failed"
    assert " refused the connection: it belongs to another launch, " in running.state(1)["why"]
    assert running.state(0)["phase"] == "waiting"


def test_a_head_whose_port_is_taken_names_the_port(gang: Make) -> None:
    running = gang(SLEEP, SLEEP)
    with socket.create_server(("127.0.0.1", running.jobs[0].gang.port)):
        running.start(0)
        assert running.runners[0].wait(60) == 1
    why = f"the head cannot listen on 127.0.0.1 port {running.jobs[0].gang.port} for the other nodes: "
    assert running.state(0)["why"] == why + os.strerror(98)
    end = {"verdict": "failed", "why": why + os.strerror(98), "node": "node0", "rank": None}
    assert running.state(0)["end"] == end, "it is the verdict of the whole run"


def test_a_member_waits_for_its_slot_while_its_head_waits_for_it(gang: Make, tmp_path: Path) -> None:
    loser = gang(SLEEP, SLEEP, run_id="loser", nonce="2" * 32)
    loser.start(0, 1)
    loser.wait_phase("running")
    winner = gang(SLEEP, SLEEP, run_id="winner", nonce="1" * 32, slot="other")
    # The winner's member needs the slot that the loser's has.
    winner.jobs[1] = type(winner.jobs[1])(**{**winner.jobs[1].__dict__, "slot": "default"})
    winner.start()
    wait_for(lambda: winner.state(0).get("phase") == "waiting", "the winner's head waits")
    with pytest.raises(Exception, match="timed out"):
        winner.runners[1].wait(10)  # longer than it waits without a head
    loser.runners[0].terminate()
    assert loser.codes() == [0, 0]
    winner.wait_phase("running")


def test_a_member_without_a_head_does_not_wait_long_for_its_slot(gang: Make) -> None:
    holder = gang(SLEEP, SLEEP, run_id="holder", nonce="1" * 32)
    holder.start()
    holder.wait_phase("running")
    late = gang(SLEEP, SLEEP, run_id="late", nonce="2" * 32)
    late.start(1)
    assert late.runners[1].wait(60) == 3
    assert holder.phases() == ["running", "running"]
