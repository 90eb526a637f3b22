# SPDX-License-Identifier: GPL-3.0-or-later
"""Gangs to break: real runners, each with an agent and ranks, and the checks after a broken run."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.layout import HEARTBEAT
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import Verdict, judge
from ansible_collections.muster.train.tests.support.gang import Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

AGENT = Path(__file__).with_name("agent.py")
NODES, NPROC = 3, 2
STOP_GRACE_S = 3.0
# Of a run whose spare is waited for, `lost_after`, shortened.
LOST_S = 4
# Shorter than `lost_after`, and so long that TCP is silent beyond that after a cut.
PAUSE_S = 3.2
# Longer than any bound, and than a head waits for a runner that was killed before it came.
PATIENCE_S = 100.0
DOCKER = ["docker"]
# A killed runner that had not come is missed, or left before the start; or the launch has stopped the rest.
NOT_STARTED = ["lost", "failed", "partial", "stopped"]


def make(home: Path, deaf: Iterable[int] = (), nodes: int = NODES, **changes: Any) -> Running:
    """Lay out a gang of agents with ranks; the ranks of nodes in `deaf` ignore SIGTERM."""
    argvs = [
        [sys.executable, "-S", str(AGENT), str(rank), str(NPROC), *(["deaf"] if rank in deaf else [])]
        for rank in range(nodes)
    ]
    jobs = make_gang(home, argvs, nproc=NPROC, world_size=(nodes - changes.get("spares", 0)) * NPROC, **changes)
    return Running([type(job)(**{**vars(job), "first_rank": NPROC * job.node_rank}) for job in jobs])


def with_spare(home: Path, deaf: Iterable[int] = ()) -> Running:
    """Lay out a gang with a spare, the last of its nodes, that may be started again once."""
    return make(home, deaf, nodes=NODES + 1, spares=1, max_restarts=1, lost_after=LOST_S)


def wait_for_spare(running: Running) -> None:
    """Wait until all ranks run and the spare waits."""
    wait_for(lambda: ranks_run(running, range(NODES)), "all ranks run", PATIENCE_S)
    wait_for(lambda: "a spare" in str(running.state(NODES).get("why")), "the spare has joined", PATIENCE_S)


@contextlib.contextmanager
def started(running: Running) -> Iterator[Running]:
    """Start a gang, and kill everything that is left of it in the end."""
    try:
        running.start()
        yield running
    finally:
        running.end()
        for job in running.jobs:
            for process in process_tree.processes_of(job.run_id, job.run_dir):
                process_tree.send(process, signal.SIGKILL)


@contextlib.contextmanager
def running_gang(home: Path, turn: random.Random, deaf: Iterable[int] = (), **changes: Any) -> Iterator[Running]:
    """Yield a gang all of whose ranks have been running for a moment."""
    with started(make(home, deaf, **changes)) as running:
        settle(running, turn)
        yield running


def settle(running: Running, turn: random.Random) -> None:
    """Wait until all ranks have been running for a moment."""
    running.wait_phase("running")
    wait_for(lambda: ranks_run(running, range(NODES)), "all ranks run", PATIENCE_S)
    time.sleep(0.3 + turn.random())


def go_on(running: Running, turn: random.Random) -> float:
    """Check that every node writes again and runs, then stop the run; return the seconds until it has ended."""
    beats = [Path(job.run_dir, HEARTBEAT) for job in running.jobs]
    thawed = time.time()
    wait_for(lambda: all(beat.stat().st_mtime > thawed for beat in beats), "they write again", PATIENCE_S)
    assert all_run(running), f"it ended the run: {running.phases()}"
    began = time.monotonic()
    request_stop(running, turn.randrange(NODES))
    seconds = wait_for_end(running, began)
    check(running, ["stopped"])
    return seconds


def outlast(
    running: Running, turn: random.Random, trouble: contextlib.AbstractContextManager[None], seconds: float = PAUSE_S
) -> float:
    """Be in trouble for so many seconds: the same ranks run. Return the seconds until a stop has ended them."""
    before = _pids(running)
    with trouble:
        time.sleep(seconds)
    time.sleep(PAUSE_S)  # by now a node would have been given up
    assert all_run(running), f"it ended the run: {running.phases()}"
    assert _pids(running) == before, "the ranks were restarted"
    return go_on(running, turn)


def _pids(running: Running) -> list[dict[int, int]]:
    return [{rank: process.pid for rank, process in ranks(running, node).items()} for node in range(NODES)]


def wait_for_end(running: Running, began: float, *but: int) -> float:
    """Wait until every runner has ended, except those of the nodes in `but`; return the seconds since `began`."""
    for rank, runner in running.runners.items():
        if rank not in but:
            runner.wait(PATIENCE_S)
    return time.monotonic() - began


def verdict_of(running: Running) -> Verdict:
    """Return what `status` says of the run."""
    return judge([read_run(Host(), job.node, job.workdir, job.run_id, DOCKER) for job in running.jobs])


def check(running: Running, verdicts: Iterable[str], node: int | None = None, rank: int | None = None) -> Verdict:
    """Check the verdict with its node and rank, then that nothing is left; return the verdict."""
    verdict = verdict_of(running)
    assert verdict.verdict in verdicts, f"verdict {verdict.verdict} ({verdict.why}), expected {' or '.join(verdicts)}"
    name = f"node{node}"
    assert node is None or verdict.node == name or name in str(verdict.why), (
        f"the cause is {verdict.why}, expected {name}"
    )
    assert rank is None or verdict.rank == rank, f"rank {verdict.rank} is named ({verdict.why}), expected {rank}"
    check_clean(running)
    return verdict


def check_clean(running: Running) -> None:
    """Check that runners that ended by themselves left nothing; stop the run as the module does, and check again."""
    for rank, runner in running.runners.items():
        job = running.jobs[rank]
        if runner.poll() is not None and runner.returncode >= 0:  # it ended by itself
            left = process_tree.processes_of(job.run_id, job.run_dir)
            assert left == [], f"{job.node}: its runner left {len(left)} processes behind"
    for job in running.jobs:
        stop_module(job, 1.0)
        left = process_tree.processes_of(job.run_id, job.run_dir)
        assert left == [], f"{job.node}: {len(left)} processes are left after stop"


def stop_module(job: Job, grace: float, nonce: str | None = None) -> None:
    """Stop a run on a node, or one launch of it, as the module does."""
    stop(Host(), job.node, job.workdir, job.run_id, nonce, grace, False, DOCKER)


def stop_launch(jobs: Iterable[Job]) -> None:
    """Stop this launch on all nodes at once, as the verb does when a node could not start."""
    threads = [threading.Thread(target=stop_module, args=(job, 1.0, job.nonce)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def request_stop(running: Running, rank: int) -> None:
    """Request a stop on one node, without waiting."""
    job = running.jobs[rank]
    Path(job.run_dir).mkdir(parents=True, exist_ok=True)
    request = {"why": "stop requested", "grace": STOP_GRACE_S}
    new = Path(f"{job.run_dir}/stop.new")
    new.write_text(json.dumps(request))
    new.replace(f"{job.run_dir}/stop.{job.nonce}")


def tree(running: Running, node: int) -> list[Process]:
    """Return the runner of a node and all below it."""
    pid = running.runners[node].pid
    runner = process_tree.look(pid)
    return [*([runner] if runner else []), *process_tree.descendants(pid)]


def ranks(running: Running, node: int) -> dict[int, Process]:
    """Return the ranks that live on a node."""
    processes = {}
    for process in process_tree.descendants(running.runners[node].pid):
        name = process_tree.command(process.pid)
        if name.startswith("rank") and name[4:].isdigit() and process_tree.look(process.pid) is not None:
            processes[int(name[4:])] = process
    return processes


def ranks_run(running: Running, nodes: Iterable[int]) -> bool:
    """Return whether all ranks of these nodes live."""
    return all(len(ranks(running, node)) == NPROC for node in nodes)


def send_to_a_rank(running: Running, node: int, turn: random.Random, number: signal.Signals = signal.SIGUSR1) -> int:
    """Make a rank of a node fail; return the rank."""
    rank, process = turn.choice(sorted(ranks(running, node).items()))
    process_tree.send(process, number)
    return rank


def attempts(running: Running) -> set[int | None]:
    """Return the attempts that the nodes are in."""
    return {running.state(rank).get("attempt") for rank in range(len(running.jobs))}


def all_run(running: Running) -> bool:
    """Return whether every node is running."""
    return set(running.phases()) == {"running"}
