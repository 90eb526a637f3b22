# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gang with real runners and sockets: all nodes start together or none does, and they end together."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import heartbeat_s
from ansible_collections.muster.train.tests.support.gang import Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = pytest.mark.slow

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
Make = Callable[..., Running]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def gang(tmp_path: Path) -> Iterator[Make]:
    made: list[Running] = []

    def make(*argvs: list[str], **changes: Any) -> Running:
        made.append(Running(make_gang(tmp_path, list(argvs), **changes)))
        return made[-1]

    yield make
    for running in made:
        running.end()
    jobs = [job for running in made for job in running.jobs]
    wait_for(lambda: not any(process_tree.processes_of(job.run_id, job.run_dir) for job in jobs), "nothing is left", 20)


@pytest.mark.parametrize("nnodes", [2, 256, 257, 1000])
@pytest.mark.parametrize("lost_after", [1, 5, 12, 60])
def test_two_heartbeats_are_missed_before_a_node_is_lost(nnodes: int, lost_after: int) -> None:
    assert 0 < 2 * heartbeat_s(nnodes, lost_after) <= lost_after


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
    why = "node2: the launcher exited with code 7: no GPU"
    for rank in range(3):
        assert running.state(rank)["end"] == {"verdict": "failed", "why": why, "node": "node2", "rank": None}
    assert running.state(0)["why"] == why
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
    assert end["why"].startswith("node1: the launcher exited with code 7: \U0001f525\u2500")


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
    assert (running.state(0)["end"]["why"], running.state(0)["end"]["rank"]) == ("node1: rank 1 exited with code 7", 1)


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
    end = {"verdict": "lost", "why": "node1: no sign of life from its runner for 6 s", "node": "node1", "rank": None}
    assert running.state(0)["end"] == end
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


def test_an_attempt_that_cannot_start_shows_nothing_of_the_previous_one(gang: Make, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nrm $0\necho a word of the first attempt\nexit 7\n")
    script.chmod(0o700)
    running = gang([str(script)], launcher="python", max_restarts=1)
    running.start()
    assert running.codes() == [1]
    state = running.state(0)
    assert state["why"].startswith(f"cannot start {script} in ")
    assert (state["attempt"], state["first"], state["failures"], state["log_tail"]) == (1, None, [], [])


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


def test_a_failed_attempt_is_repeated_on_all_nodes_at_the_next_port(gang: Make) -> None:
    """Rank 1 fails twice; each attempt makes a step more than the one before."""
    code = """
import json, os, sys, time
attempts = os.environ["MUSTER_RUN_DIR"] + "/attempts"
with open(attempts, "a") as stream:
    stream.write(os.environ["PET_RDZV_ENDPOINT"] + "\\n")
number = len(open(attempts).readlines())
with open(os.environ["MUSTER_OUTPUT_DIR"] + "/rank_00_metrics.jsonl", "a") as stream:
    stream.write(json.dumps({"step": number}) + "\\n")
"""
    fails = code + "time.sleep(0.3)\nsys.exit(0 if number == 3 else 5)"
    sleeps = code + "time.sleep(600 if number < 3 else 0)"
    running = gang(python(sleeps), python(fails), max_restarts=5)
    for job in running.jobs:
        marks = {"MUSTER_RUN_DIR": job.run_dir, "MUSTER_OUTPUT_DIR": job.output_dir}
        job.environment.extend(type(job.environment[0])(name, value, "test", "") for name, value in marks.items())
    running.start()
    assert running.codes() == [0, 0]
    port = running.jobs[0].rendezvous.port
    for rank in range(2):
        assert (running.state(rank)["phase"], running.state(rank)["attempt"]) == ("succeeded", 2)
        lines = Path(running.jobs[rank].run_dir, "attempts").read_text().split()
        assert lines == [f"127.0.0.1:{port + number}" for number in range(3)]
    kept = running.state(0)["gang"]["reports"]
    assert [(report["node"], report["attempt"], report["exit_code"]) for report in kept] == [
        ("node1", 0, 5),
        ("node1", 1, 5),
    ]


def test_the_head_can_be_lost_in_a_later_attempt(gang: Make) -> None:
    """A member's report on the previous attempt does not make it ignore this loss."""
    code = """
import os, sys, time
again = os.environ["MUSTER_RUN_DIR"] + "/again"
if os.path.exists(again):
    time.sleep(600)
open(again, "w").close()
sys.exit(5)
"""
    running = gang(SLEEP, python(code), max_restarts=1)
    running.start()
    wait_for(lambda: (running.state(1).get("attempt"), running.state(1).get("phase")) == (1, "running"), "again", 60)
    running.runners[0].kill()
    assert running.runners[1].wait(60) == 0
    assert (running.state(1)["phase"], running.state(1)["end"]["verdict"]) == ("stopped", "lost")


def test_a_time_limit_applies_to_the_run_not_to_an_attempt(gang: Make) -> None:
    code = "import os, time; time.sleep(4); raise SystemExit(5)"
    running = gang(SLEEP, python(code), max_restarts=50, time_limit=5)
    running.start()
    assert running.codes() == [0, 0]
    assert running.state(0)["end"]["verdict"] == "stopped"
    assert running.state(0)["end"]["why"] == "time limit of 5 s reached"


def test_attempts_without_progress_end_the_run(gang: Make) -> None:
    running = gang(SLEEP, python("import sys; sys.exit(5)"), max_restarts=50)
    running.start()
    assert running.codes() == [0, 1]
    end = running.state(0)["end"]
    assert end["verdict"] == "failed"
    assert (
        end["why"]
        == "node1: the launcher exited with code 5; 2 attempts in a row completed no new step and saved no checkpoint"
    )


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


def test_a_spare_takes_the_rank_of_a_lost_node(gang: Make) -> None:
    """Node 1 is killed in its first attempt; the spare makes the second one with its rank, the others keep theirs."""
    code = """
import os, time
with open(os.environ["MUSTER_RUN_DIR"] + "/attempts", "a") as stream:
    stream.write(os.environ["PET_NODE_RANK"] + " " + os.environ["PET_RDZV_ENDPOINT"] + "\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
"""
    running = gang(*[python(code)] * 4, max_restarts=1, spares=1, lost_after=3)
    for job in running.jobs:
        job.environment.append(type(job.environment[0])("MUSTER_RUN_DIR", job.run_dir, "test", ""))
    running.start()
    running.wait_phase("running", 0, 1, 2)
    running.wait_phase("waiting", 3)
    wait_for(lambda: "a spare" in str(running.state(3)["why"]), "the spare has joined", 60)
    running.runners[1].kill()
    wait_for(lambda: running.state(3).get("phase") == "running", "the spare runs", 60)
    for number in (0, 2, 3):
        Path(running.jobs[number].code_dir, "go").touch()
    assert [running.runners[number].wait(60) for number in (0, 2, 3)] == [0, 0, 0]
    port = running.jobs[0].rendezvous.port
    attempts = {number: Path(running.jobs[number].run_dir, "attempts").read_text().splitlines() for number in (0, 2, 3)}
    assert attempts == {
        0: [f"0 127.0.0.1:{port}", f"0 127.0.0.1:{port + 1}"],
        2: [f"2 127.0.0.1:{port}", f"2 127.0.0.1:{port + 1}"],
        3: [f"1 127.0.0.1:{port + 1}"],
    }
    state = running.state(3)
    assert (state["phase"], state["node_rank"], state["first_rank"], state["attempt"]) == ("succeeded", 1, 1, 1)
    assert running.state(0)["end"]["verdict"] == "succeeded"


def test_a_spare_that_gets_a_signal_leaves_and_the_run_goes_on(gang: Make) -> None:
    ranks = python("import time; time.sleep(4)")
    running = gang(ranks, ranks, SLEEP, max_restarts=1, spares=1)
    running.start()
    running.wait_phase("running", 0, 1)
    wait_for(lambda: "a spare" in str(running.state(2)["why"]), "the spare has joined", 60)
    running.runners[2].terminate()
    assert running.codes() == [0, 0, 0]
    assert running.phases() == ["succeeded", "succeeded", "stopped"]
    assert running.state(2)["why"] == "an unused spare: node2: the runner received SIGTERM"


def test_an_unused_spare_ends_with_the_other_nodes(gang: Make) -> None:
    running = gang(python(""), python("import time; time.sleep(1)"), SLEEP, max_restarts=1, spares=1)
    running.start()
    assert running.codes() == [0, 0, 0]
    assert running.phases() == ["succeeded", "succeeded", "stopped"]
    assert running.state(2)["why"] == "an unused spare: the run has ended"
