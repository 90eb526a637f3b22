# SPDX-License-Identifier: GPL-3.0-or-later
"""Two launches that meet on the same nodes: exactly one wins, and the other does not change its state."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import locks
from ansible_collections.muster.train.tests.support.gang import Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for

pytestmark = pytest.mark.slow

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
DEAF = [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
REFUSED = 3
NODES = ("node0", "node1")


def refusal_of(job: Job) -> dict[str, Any]:
    return dict(json.loads(Path(job.run_dir, f"refused.{job.nonce}.json").read_text()))


def refusal(running: Running) -> dict[str, Any]:
    """Return the refusal of a launch, empty before it was refused."""
    refused = (running.jobs[rank] for rank, runner in running.runners.items() if runner.poll() == REFUSED)
    return next(map(refusal_of, refused), {})


@pytest.fixture
def rivals(tmp_path: Path) -> Iterator[tuple[Running, Running]]:
    """Return an older launch with the head node0 and a younger one with the head node1, on the same two nodes."""
    older = Running(make_gang(tmp_path, [SLEEP] * 2, run_id="older", nonce="a" * 32))
    first, last = make_gang(tmp_path, [SLEEP] * 2, run_id="younger", nonce="b" * 32, created="2026-11-20T14:30:53Z")
    head = replace(last, node_rank=0, first_rank=0, gang=replace(first.gang, nodes=list(reversed(NODES))))
    member = replace(first, node_rank=1, first_rank=1, gang=last.gang)
    younger = Running([head, member])
    yield older, younger
    for running in (older, younger):
        running.end()


@pytest.mark.parametrize(
    "first",
    [
        pytest.param([(0, 0), (1, 0)], id="both heads"),
        pytest.param([(0, 1), (1, 1)], id="both members"),
        pytest.param([(1, 1), (1, 0)], id="the younger launch"),
    ],
)
def test_of_two_launches_with_opposite_heads_exactly_one_wins(
    rivals: tuple[Running, Running], first: list[tuple[int, int]]
) -> None:
    for launch, rank in first:
        rivals[launch].start(rank)
        job = rivals[launch].jobs[rank]
        wait_for(
            locks.Lock(locks.slot_path(job.workdir, job.node, job.slot)).holder, f"{job.node} is {job.run_id}'s", 60
        )
    for launch, rank in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        if (launch, rank) not in first:
            rivals[launch].start(rank)
    loser = wait_for(lambda: next((rival for rival in rivals if refusal(rival)), None), "one of them is refused", 90)
    winner = rivals[1 - rivals.index(loser)]
    refused = refusal(loser)
    assert (refused["slot"], refused["holder"]["run_id"]) == ("default", winner.jobs[0].run_id)
    for job in loser.jobs:  # its controller notices
        stop(Host(), job.node, job.workdir, job.run_id, job.nonce, 1.0, False, ["docker"])
    winner.wait_phase("running")
    assert refusal(winner) == {}


@pytest.mark.parametrize(
    ("created", "why"),
    [
        ("2026-11-20T14:30:53Z", "which is younger than this launch (bbbbbbbb)"),
        ("2026-11-20T14:30:51Z", "and no head waits for this launch (bbbbbbbb)"),
    ],
)
def test_a_member_that_waited_does_not_overwrite_another_launch_of_its_run(
    tmp_path: Path, created: str, why: str, request: pytest.FixtureRequest
) -> None:
    winner = make_job(tmp_path, DEAF, nonce="a" * 32, created=created, stop_grace=3)
    runner = spawn(winner)
    request.addfinalizer(runner.kill)
    wait_for(lambda: state_of(winner).get("phase") == "running", "the winner runs", 60)
    (late,) = make_gang(tmp_path, [SLEEP] * 2, nonce="b" * 32)[1:]
    late = replace(late, workdir=winner.workdir, run_dir=winner.run_dir, slot="second")
    loser = spawn(late, {"environment": {}, "key": "k"})
    request.addfinalizer(loser.kill)
    prepared = Path(late.run_dir, f"private.{late.nonce}.json")
    wait_for(lambda: not prepared.exists(), "the loser waits for the run's lock", 60)
    runner.terminate()
    assert runner.wait(60) == 0
    ended = state_of(winner)
    assert loser.wait(60) == REFUSED
    text = refusal_of(late)["why"]
    assert text.startswith("run test_run was started by launch aaaaaaaa at 20") and why in text
    assert state_of(winner) == ended and ended["phase"] == "stopped"
    assert not Path(late.run_dir, f"job.{late.nonce}.json").exists()


def test_a_second_launch_of_a_run_in_another_slot_is_refused_with_the_launch_named(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = make_job(tmp_path, SLEEP, nonce="a" * 32)
    runner = spawn(first)
    request.addfinalizer(runner.terminate)
    wait_for(lambda: state_of(first).get("phase") == "running", "the first runs", 60)
    second = make_job(tmp_path, SLEEP, nonce="b" * 32, slot="second")
    assert spawn(second).wait(60) == REFUSED
    refused = refusal_of(second)
    assert (refused["slot"], refused["holder"]["nonce"]) == (None, first.nonce)
