# SPDX-License-Identifier: GPL-3.0-or-later
"""Two launches of one run at the same moment on all nodes, in any order."""

from __future__ import annotations

import random
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.gang import KEY, Running
from ansible_collections.muster.train.tests.support.jobs import wait_for

APART_S = 0.4
REFUSED = 3


def two_launches(home: Path, turn: random.Random) -> float:
    """Start both launches' runners in any order; the seconds: from the last start until one runs everywhere."""
    first = gangs.make(home)
    first.jobs[:] = [_of_launch(job, "a" * 32, job.gang.port) for job in first.jobs]
    # Each controller chooses a port on its own, so both may have chosen the same.
    port = first.jobs[0].gang.port + turn.choice([0, 4])
    second = Running([_of_launch(job, "b" * 32, port) for job in first.jobs])
    rivals = [first, second]
    try:
        order = [(rival, rank) for rival in range(2) for rank in range(gangs.NODES)]
        turn.shuffle(order)
        pace = turn.choice([0.0, APART_S / len(order)])
        for rival, rank in order:
            rivals[rival].start(rank, key=KEY if rival == 0 else KEY[::-1])
            time.sleep(turn.random() * pace)
        began = time.monotonic()
        loser = wait_for(lambda: _refused(rivals), "one of them is refused", 30)
        winner = rivals[1 - rivals.index(loser)]
        # Its controller notices, and stops what it has started.
        threading.Thread(target=gangs.stop_launch, args=(loser.jobs,), daemon=True).start()
        nonce = winner.jobs[0].nonce
        wait_for(lambda: _holds_all(winner, nonce), "the other runs on all nodes", 80)
        seconds = time.monotonic() - began
        for runner in loser.runners.values():
            runner.wait(gangs.PATIENCE_S)
        assert _holds_all(winner, nonce), f"the loser's end ended the winner: {winner.phases()}"
        for job in winner.jobs:
            nonces = {
                process_tree.environment(p.pid).get("MUSTER_NONCE")
                for p in process_tree.processes_of(job.run_id, job.run_dir)
            }
            assert nonces == {nonce}, f"{job.node}: processes of {len(nonces)} launches"
        gangs.request_stop(winner, turn.randrange(gangs.NODES))
        gangs.wait_for_end(winner, began)
        gangs.check(winner, ["stopped"])
        return seconds
    finally:
        for launch in rivals:
            launch.end()
        for job in first.jobs:
            for process in process_tree.processes_of(job.run_id, job.run_dir):
                process_tree.send(process, signal.SIGKILL)


def _of_launch(job: Job, nonce: str, port: int) -> Job:
    environment = [replace(item, value=nonce) if item.name == "MUSTER_NONCE" else item for item in job.environment]
    rendezvous = replace(job.rendezvous, port=port + 1)
    return replace(job, nonce=nonce, environment=environment, rendezvous=rendezvous, gang=replace(job.gang, port=port))


def _refused(rivals: list[Running]) -> Running | None:
    """Return the launch whose head was refused."""
    return next((rival for rival in rivals if rival.runners[0].poll() == REFUSED), None)


def _holds_all(running: Running, nonce: str) -> bool:
    """Return whether a launch runs on all nodes."""
    states = [running.state(rank) for rank in range(gangs.NODES)]
    return all((state.get("nonce"), state.get("phase")) == (nonce, "running") for state in states)
