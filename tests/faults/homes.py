# SPDX-License-Identifier: GPL-3.0-or-later
"""Work directories as clusters have them: nodes share one, one has no locks, a cleaner empties one."""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils.runner import locks, process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support import no_flock
from ansible_collections.muster.train.tests.support.gang import Running
from ansible_collections.muster.train.tests.support.jobs import make_job, wait_for

REFUSED = 3
# Longer than a runner needs to notice that its files were removed.
NOTICE_S = 4.0
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(7200)"]


def shared(home: Path, turn: random.Random) -> float:
    """All nodes have one work directory, and one of them is killed."""
    bad = turn.randrange(gangs.NODES)
    names = [f"node{rank}" for rank in range(gangs.NODES)]
    with gangs.running_gang(home, turn, shared_workdir=True) as running:
        assert len({job.workdir for job in running.jobs}) == 1, "the work directory is not shared"
        assert [running.state(rank)["node"] for rank in range(gangs.NODES)] == names
        began = time.monotonic()
        for process in gangs.tree(running, bad):
            process_tree.send(process, signal.SIGKILL)
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["lost"], bad)
    return seconds


def without_flock(home: Path, turn: random.Random) -> float:
    """flock(2) fails on a node: its runner refuses, and the launch stops the others before any rank runs."""
    bad = turn.randrange(gangs.NODES)
    running = gangs.make(home)
    running.inside[bad] = no_flock.command()
    began = time.monotonic()
    with gangs.started(running):
        assert running.runners[bad].wait(gangs.PATIENCE_S) == REFUSED
        assert "could not be locked: Function not implemented" in _why_refused(running.jobs[bad])
        gangs.stop_launch(running.jobs)
        seconds = gangs.wait_for_end(running, began)
        assert [running.state(rank).get("started") for rank in range(gangs.NODES)] == [None] * gangs.NODES
        gangs.check(running, gangs.NOT_STARTED)
    return seconds


def cleaned(home: Path, turn: random.Random) -> float:
    """A cleaner removes locks, or all files, of a node; another launch is refused there, then the run is stopped."""
    bad = turn.randrange(gangs.NODES)
    with gangs.running_gang(home, turn) as running:
        job = running.jobs[bad]
        turn.choice([_remove_locks, _remove_all])(job)
        _check_alive(job)
        second = Running([make_job(Path(job.workdir), SLEEP, node=job.node, run_id="second_run", nonce="b" * 32)])
        with gangs.started(second):
            assert second.runners[0].wait(gangs.PATIENCE_S) == REFUSED
            assert f"held by run {job.run_id}" in _why_refused(second.jobs[0]), _why_refused(second.jobs[0])
        _check_alive(job)
        if turn.random() < 0.5:
            _remove_all(job)
            time.sleep(turn.random() * NOTICE_S)
        else:
            wait_for(functools.partial(_is_whole, job), "its files are there again", gangs.PATIENCE_S)
        assert [rank for rank in range(gangs.NODES) if running.runners[rank].poll() is not None] == []
        began = time.monotonic()
        gangs.stop_module(job, gangs.STOP_GRACE_S)
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["stopped"])
        return seconds


def _remove_locks(job: Job) -> None:
    """Remove what is empty or small and never written again, as a cleaner by age does."""
    for path in (locks.slot_path(job.workdir, job.node, job.slot), locks.run_path(job.run_dir)):
        Path(path).unlink()


def _remove_all(job: Job) -> None:
    """Remove all of Muster there, against a runner that makes it again meanwhile."""
    top = layout.parents(job.workdir, job.node)[0]
    while os.path.exists(top):
        shutil.rmtree(top, ignore_errors=True)


def _check_alive(job: Job) -> None:
    run = read_run(Host(), job.node, job.workdir, job.run_id, gangs.DOCKER)
    assert (run.phase, run.alive) == ("running", True), f"status: {run.phase} ({run.why})"


def _is_whole(job: Job) -> bool:
    names = (layout.STATE, layout.HEARTBEAT, "job.json", "lock", "logs/node.log")
    return all(os.path.exists(os.path.join(job.run_dir, name)) for name in names)


def _why_refused(job: Job) -> str:
    return str(json.loads(Path(job.run_dir, f"refused.{job.nonce}.json").read_text())["why"])
