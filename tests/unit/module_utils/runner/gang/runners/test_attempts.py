# SPDX-License-Identifier: GPL-3.0-or-later
"""The attempts of a gang with real runners: what is repeated and when no more, and spares that take a rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.gang import SLEEP, Make, python
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = pytest.mark.slow


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
    ended = running.state(0)["gang"]["ended_attempts"]
    assert [(attempt["attempt"], attempt["verdict"], attempt["node"]) for attempt in ended] == [
        (0, "failed", "node1"),
        (1, "failed", "node1"),
    ]
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
    assert " 5 s " in running.state(0)["end"]["why"]


def test_attempts_without_progress_end_the_run(gang: Make) -> None:
    running = gang(SLEEP, python("import sys; sys.exit(5)"), max_restarts=50)
    running.start()
    assert running.codes() == [0, 1]
    end = running.state(0)["end"]
    assert (end["verdict"], end["node"], running.state(0)["attempt"]) == ("failed", "node1", 2)


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
    assert "SIGTERM" in running.state(2)["why"]


def test_an_unused_spare_ends_with_the_other_nodes(gang: Make) -> None:
    running = gang(python(""), python("import time; time.sleep(1)"), SLEEP, max_restarts=1, spares=1)
    running.start()
    assert running.codes() == [0, 0, 0]
    assert running.phases() == ["succeeded", "succeeded", "stopped"]
    assert running.state(2)["why"] == "an unused spare: the run has ended"
