# SPDX-License-Identifier: GPL-3.0-or-later
"""Another process listens on a port of the run."""

from __future__ import annotations

import random
import socket
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import wait_for


def steal(job: Job, port: int) -> socket.socket:
    """Listen on a port of the head, without ever answering."""
    return socket.create_server((job.rendezvous.address, port))


def of_the_gang(home: Path, turn: random.Random) -> float:
    """The runners' port is taken before the start; the launch is informed and stops the other nodes."""
    running = gangs.make(home, deaf=turn.sample(range(gangs.NODES), 1))
    job = running.jobs[0]
    with steal(job, job.gang.port):
        began = time.monotonic()
        with gangs.started(running):
            running.runners[0].wait(gangs.PATIENCE_S)
            gangs.stop_launch(running.jobs)
            seconds = gangs.wait_for_end(running, began)
            verdict = gangs.check(running, ["failed"], 0)
    assert f"cannot listen on {job.rendezvous.address} port {job.gang.port}" in str(verdict.why), verdict.why
    return seconds


def of_the_ranks(home: Path, _turn: random.Random) -> float:
    """The port where ranks meet is taken before the start."""
    running = gangs.make(home)
    port = running.jobs[0].rendezvous.port
    with steal(running.jobs[0], port):
        began = time.monotonic()
        with gangs.started(running):
            seconds = gangs.wait_for_end(running, began)
            verdict = gangs.check(running, ["failed"], 0)
    assert "Address already in use" in str(verdict.why) and str(port) in str(verdict.why), verdict.why
    return seconds


def of_the_next_attempt(home: Path, turn: random.Random) -> float:
    """The port of the second attempt was taken before the start: that attempt fails, the third runs.

    The seconds are until it does.
    """
    bad = turn.randrange(gangs.NODES)
    running = gangs.make(home, max_restarts=2)
    port = running.jobs[0].rendezvous.port + 1
    with steal(running.jobs[0], port), gangs.started(running):
        wait_for(lambda: gangs.ranks_run(running, range(gangs.NODES)), "all ranks run", gangs.PATIENCE_S)
        running.wait_phase("running")
        began = time.monotonic()
        gangs.send_to_a_rank(running, bad, turn)
        wait_for(lambda: gangs.attempts(running) == {2} and gangs.all_run(running), "the third attempt runs", 60)
        seconds = time.monotonic() - began
        reports = running.state(0)["gang"]["reports"]
        reasons = [str(report["why"]) for report in reports if report["attempt"] == 1]
        assert len(reasons) == 1 and str(port) in reasons[0], f"the second attempt failed because of {reasons}"
        gangs.request_stop(running, bad)
        gangs.wait_for_end(running, began)
        gangs.check(running, ["stopped"])
        return seconds
