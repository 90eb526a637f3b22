# SPDX-License-Identifier: GPL-3.0-or-later
"""A run whose storage does not answer: a FIFO as its metrics file keeps the disk thread waiting, as a server would."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.run import Heartbeat
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.output import (
    MAX_BACKLOG_BYTES,
    PIPE_BYTES,
    READ_BYTES,
    Output,
    make_pipes,
)
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.tests.support.gang import Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
LOST_AFTER_S = 6
PATIENCE_S = 60.0
LINE = b"a line of the training\n"


def metrics(job: Job) -> Path:
    return Path(job.output_dir, "rank_00_metrics.jsonl")


def stall(job: Job) -> None:
    """Let the storage of a node not answer from the next heartbeat on."""
    os.mkfifo(metrics(job))


def answer(job: Job) -> None:
    """Let the storage of a node answer."""
    writer = os.open(metrics(job), os.O_RDWR)
    metrics(job).unlink()
    os.close(writer)


def wait_for_beat(job: Job) -> None:
    """Wait until a node writes its next heartbeat."""
    now = time.time()
    wait_for(lambda: beat_path(job).exists() and beat_path(job).stat().st_mtime > now, "a heartbeat", PATIENCE_S)


def beat_path(job: Job) -> Path:
    return Path(job.run_dir, "heartbeat.json")


def stalled_nodes(job: Job) -> dict[str | None, int]:
    """Return what the head's heartbeat says of nodes whose storage does not answer."""
    beat = Heartbeat.from_dict(json.loads(beat_path(job).read_text()))
    return {node.node: node.seconds for node in beat.stalled}


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    """A gang of two that runs; the parameter is its disk_wait."""
    running = Running(make_gang(tmp_path, [SLEEP, SLEEP], lost_after=LOST_AFTER_S, disk_wait=request.param))
    running.start()
    running.wait_phase("running")
    yield running
    for job in running.jobs:
        if metrics(job).exists():
            answer(job)
    running.end()


@pytest.mark.slow
@pytest.mark.parametrize("running", [300], indirect=True)
def test_storage_that_answers_again_ends_nothing(running: Running) -> None:
    head, member = running.jobs
    wait_for_beat(head)
    stall(member)
    wait_for(lambda: stalled_nodes(head).get("node1", 0) > LOST_AFTER_S, "the head knows of node1", PATIENCE_S)
    stall(head)
    # By then each has been silent on its disk for longer than a node may be on the network.
    wait_for(
        lambda: time.time() - beat_path(head).stat().st_mtime > LOST_AFTER_S + 2, "the head stalls too", PATIENCE_S
    )
    for job in (head, member):
        answer(job)
        wait_for_beat(job)
    wait_for(lambda: stalled_nodes(head) == {}, "no storage is reported any more", PATIENCE_S)
    assert running.phases() == ["running", "running"]
    running.runners[1].send_signal(signal.SIGTERM)
    assert running.codes() == [0, 0]
    assert running.phases() == ["stopped", "stopped"]


@pytest.mark.slow
# Longer than a healthy but busy disk may take for one call.
@pytest.mark.parametrize("running", [15], indirect=True)
@pytest.mark.parametrize("bad", [0, 1])
def test_storage_that_does_not_answer_for_too_long_fails_its_node(running: Running, bad: int) -> None:
    job, other = running.jobs[bad], running.jobs[1 - bad]
    stall(job)
    assert running.runners[1 - bad].wait(PATIENCE_S) == 0
    why = f"{job.node}: the storage of {job.run_dir} has not answered for {job.disk_wait} s"
    assert running.state(other.node_rank)["end"] == {"verdict": "failed", "why": why, "node": job.node, "rank": None}


@pytest.mark.slow
@pytest.mark.parametrize("running", [300], indirect=True)
@pytest.mark.parametrize("bad", [0, 1])
def test_the_last_state_is_written_once_the_storage_answers(running: Running, bad: int) -> None:
    wait_for_beat(running.jobs[bad])
    stall(running.jobs[bad])
    running.runners[1 - bad].send_signal(signal.SIGTERM)
    assert running.runners[1 - bad].wait(PATIENCE_S) == 0, "the others do not wait for it"
    assert running.phases()[1 - bad] == "stopped"
    answer(running.jobs[bad])
    assert running.codes() == [0, 0]
    assert running.phases() == ["stopped", "stopped"]


def test_output_waits_in_bounded_memory_while_the_storage_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    storage = tmp_path / "storage"
    os.mkfifo(storage)
    disk = DiskThread()
    disk.add(storage.read_text)
    selector = selectors.DefaultSelector()
    [pipe] = make_pipes(str(tmp_path), 1)
    output = Output(str(tmp_path), range(1), None, [pipe], 1 << 30, disk, selector)
    rank = os.open(tmp_path / "pipes" / "rank_0", os.O_WRONLY | os.O_NONBLOCK)
    written, block = 0, LINE * 100
    blocked = 0
    while blocked < 3:
        try:
            written += os.write(rank, block)
            blocked = 0
        except BlockingIOError:
            blocked += 1
        for key, events in selector.select(0):
            key.data(events)
        output.tick()
    assert written > PIPE_BYTES // 2
    assert disk.backlog < MAX_BACKLOG_BYTES + 4 * READ_BYTES
    storage.write_text("it answers")
    output.close()
    assert disk.wait(PATIENCE_S)
    lines = (tmp_path / "logs" / "rank_00.log").read_bytes().splitlines(keepends=True)
    assert sum(len(line.partition(b" ")[2]) for line in lines) == written, "nothing is lost"
    os.close(rank)
