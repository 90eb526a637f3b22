# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults under real torchrun: what it does to a node's ranks, and how the gang reacts."""

from __future__ import annotations

import importlib.metadata
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Job, Variable
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import torchrun
from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.base import Program, Start
from ansible_collections.muster.train.plugins.plugin_utils._plan.launchers.torchrun import command
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.gang import Running, free_ports, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

HERE = Path(__file__).parent
NODES, NPROC = 2, 2
STEPS = 10_000
# In place of torch's five minutes at exit; and how long after the head's ranks the others go on.
CLOCK_S, LATER_S = 2.0, 6.0


def version() -> str | None:
    """Return the installed torch's version, None where there is none."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def skip_reason() -> str | None:
    """Why torchrun can't run here; None where it can."""
    return None if version() else "torch is not installed"


def make(
    home: Path, script: str, arguments: list[str], nproc: int = NPROC, hasty: bool = False, **more: object
) -> Running:
    """Lay out a gang whose launchers are torchrun, as a plan has it."""
    jobs = make_gang(home, [["true"]] * NODES, nproc=nproc, world_size=NODES * nproc, **more)
    return Running([_with_torchrun(job, str(HERE / script), arguments, hasty) for job in jobs])


def _with_torchrun(job: Job, script: str, arguments: list[str], hasty: bool) -> Job:
    place = job.rendezvous
    rank = job.node_rank * job.nproc
    program = Program("script", script, tuple(arguments))
    start = Start(
        *(job.run_id, job.run_dir, sys.executable, program, job.nnodes, job.nproc, job.node_rank),
        *(rank, job.world_size, place.address, place.port),
    )
    argv = command(start).argv
    if hasty:
        argv = [argv[0], str(HERE / "hasty.py"), str(CLOCK_S), *argv[1:]]
    os.makedirs(job.run_dir, mode=0o700)
    Path(job.run_dir, "torchrun.py").write_bytes(Path(torchrun.__file__).read_bytes())
    variables = {"MUSTER_OUTPUT_DIR": job.output_dir, "OMP_NUM_THREADS": "1"}
    environment = [*job.environment, *(Variable(name, value, "test", "") for name, value in variables.items())]
    return replace(job, argv=argv, first_rank=rank, environment=environment)


def wait_for_steps(running: Running, attempt: int = 0) -> None:
    """Wait until every rank makes steps in this attempt."""
    wait_for(lambda: all(_begun(job) > attempt for job in running.jobs), f"all make steps in attempt {attempt}", 90)


def _begun(job: Job) -> int:
    """Return how often all ranks of a node have begun."""
    logs = [Path(job.run_dir, "logs", f"rank_{job.first_rank + rank:02d}.log") for rank in range(job.nproc)]
    return min(log.read_text().count("begins after") if log.exists() else 0 for log in logs)


def crash(running: Running, turn: random.Random) -> tuple[int, int]:
    """Let a rank fail; return its node and its number."""
    node = turn.randrange(NODES)
    job = running.jobs[node]
    rank = job.first_rank + turn.randrange(job.nproc)
    Path(job.code_dir, f"crash{rank}").touch()
    return node, rank


def rank_crashes(home: Path, turn: random.Random) -> float:
    return _crashes(home, turn, [])


def rank_crashes_beside_deaf_ones(home: Path, turn: random.Random) -> float:
    return _crashes(home, turn, ["deaf"])


def _crashes(home: Path, turn: random.Random, how: list[str]) -> float:
    running = make(home, "trainer.py", [str(STEPS), *how])
    with gangs.started(running):
        wait_for_steps(running)
        began = time.monotonic()
        node, rank = crash(running, turn)
        seconds = gangs.wait_for_end(running, began)
        verdict = gangs.check(running, ["failed"], node, rank)
        assert verdict.why is not None and verdict.why.startswith(f"node{node}: rank {rank} exited with code 7"), (
            verdict.why
        )
        return seconds


def again(home: Path, turn: random.Random) -> float:
    """A rank fails, the run is started again and goes on where it was; the seconds are until all make steps again."""
    running = make(home, "trainer.py", ["40", "hold"], max_restarts=1)
    with gangs.started(running):
        wait_for_steps(running)
        time.sleep(1.0)
        began = time.monotonic()
        crash(running, turn)
        wait_for_steps(running, attempt=1)
        seconds = time.monotonic() - began
        gangs.wait_for_end(running, began)
        for job in running.jobs:
            for rank in range(job.first_rank, job.first_rank + job.nproc):
                log = Path(job.run_dir, "logs", f"rank_{rank:02d}.log").read_text()
                begun = [int(line.rpartition(" ")[2]) for line in log.splitlines() if "begins after step" in line]
                assert begun[0] == 0 and begun[1] > 0, f"rank {rank} began at {begun}"
        gangs.check(running, ["succeeded"])
        return seconds


def head_is_done_first(home: Path, _turn: random.Random) -> float:
    """Its ranks end long before the others', which need its store then; the seconds are from there to the end."""
    running = make(home, "late.py", [], nproc=1, hasty=True)
    log = Path(running.jobs[0].run_dir, "logs/rank_00.log")
    with gangs.started(running):
        wait_for(lambda: log.exists() and "done" in log.read_text(), "the head's rank is done", 90)
        time.sleep(LATER_S)
        began = time.monotonic()
        Path(running.jobs[1].code_dir, "go").touch()
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["succeeded"])
        return seconds


def hasty_head(home: Path) -> int:
    """Return how the other node's torchrun ends where the exit barrier is not lengthened: the reason for the gang."""
    port = free_ports()
    argv = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=static", f"--rdzv-endpoint=127.0.0.1:{port}"]
    nodes = [
        subprocess.Popen(
            [
                *(sys.executable, str(HERE / "hasty.py"), str(CLOCK_S), "torchrun", *argv, f"--node-rank={rank}"),
                str(HERE / "late.py"),
            ],
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]
    try:
        nodes[0].wait(120)
        (home / "go").touch()
        return nodes[1].wait(120)
    finally:
        for node in nodes:
            node.kill()
            node.wait()
