# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's container is killed, together with its runner and all ranks; only Docker knows how it ended."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.job import Job, JobContainer, container_name
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._runs import job_container
from ansible_collections.muster.train.plugins.module_utils._runs.start import runner_command
from ansible_collections.muster.train.plugins.module_utils._runs.starters.registry import starter_named
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support import engine
from ansible_collections.muster.train.tests.support.gang import KEY, Running
from ansible_collections.muster.train.tests.support.jobs import prepare, wait_for

MOMENTS_S = 2.0
skip_reason = engine.missing


def _in_container(job: Job, home: Path) -> Job:
    """Return the job as a plan with the runtime docker has it."""
    # Containers of two rounds have one engine: a name is there once.
    run_id = f"{home.name.replace('_', '-').lower()}-run"
    run_dir = layout.run_dir(job.workdir, job.node, run_id)
    marks = {"MUSTER_RUN_ID": run_id, "MUSTER_RUN_DIR": run_dir}
    environment = [
        dataclasses.replace(variable, value=marks.get(variable.name, variable.value)) for variable in job.environment
    ]
    labels = {
        job_container.RUN_ID: run_id,
        job_container.RUN_DIR: run_dir,
        job_container.NONCE: job.nonce,
        job_container.WORKDIR: job.workdir,
    }
    name = container_name(run_id, job.node_rank)
    return dataclasses.replace(
        job,
        run_id=run_id,
        run_dir=run_dir,
        output_dir=f"{run_dir}/outputs",
        environment=environment,
        runtime="docker",
        starter="docker",
        container=JobContainer(gangs.DOCKER, str(home / "compose.yaml"), "train", name, sys.executable, labels),
    )


@contextlib.contextmanager
def _started(home: Path) -> Iterator[Running]:
    """Start the containers of a gang side by side, and remove all of them in the end."""
    engine.make_image()
    engine.write_compose(home / "compose.yaml", home)
    running = Running([_in_container(job, home) for job in gangs.make(home).jobs])
    try:
        with ThreadPoolExecutor(gangs.NODES) as pool:
            list(pool.map(_start, running.jobs))
        yield running
    finally:
        engine.remove_containers(home)


def _start(job: Job) -> None:
    prepare(job, {"environment": {"PATH": "/usr/bin:/bin"}, "key": KEY})
    starter_named(job.starter).start(Host(), job, runner_command(job, job.starter))


def _is_over(running: Running, node: int) -> bool:
    """Return whether a node's runner and its container have ended."""
    job = running.jobs[node]
    state = job_container.look(Host(), _container(job))
    return running.state(node).get("phase") in ENDED and (state is None or not state.running)


def _container(job: Job) -> JobContainer:
    assert job.container is not None
    return job.container


def killed(home: Path, turn: random.Random) -> float:
    """Kill the container of a node at any moment; return the seconds until the others' are over."""
    bad = turn.randrange(gangs.NODES)
    with _started(home) as running:
        time.sleep(turn.random() * MOMENTS_S)
        begun = gangs.all_run(running)
        began = time.monotonic()
        engine.docker("kill", _container(running.jobs[bad]).name)
        if not begun:
            gangs.stop_launch(running.jobs)
        others = [node for node in range(gangs.NODES) if node != bad]
        wait_for(lambda: all(_is_over(running, node) for node in others), "the others are over", gangs.PATIENCE_S)
        seconds = time.monotonic() - began
        gangs.check(running, ["lost"] if begun else gangs.NOT_STARTED, bad if begun else None)
        left = [container["Name"] for container in engine.containers(home)]
        assert left == [], f"containers are left after stop: {left}"
        return seconds
