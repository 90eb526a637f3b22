# SPDX-License-Identifier: GPL-3.0-or-later
"""A node, a runner or a rank that dies, is paused, or never starts."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import wait_for

JOIN_S = 5
# So many programs that use a core each, for longer than `lost_after`.
BUSY, BUSY_S = 6, 10.0


def rank_crashes(home: Path, turn: random.Random) -> float:
    bad = turn.randrange(gangs.NODES)
    with gangs.running_gang(home, turn) as running:
        began = time.monotonic()
        rank = gangs.send_to_a_rank(running, bad, turn)
        seconds = gangs.wait_for_end(running, began)
        verdict = gangs.check(running, ["failed"], bad, rank)
        assert verdict.why is not None and verdict.why.startswith(f"node{bad}: rank {rank} exited with code 7"), (
            verdict.why
        )
        return seconds


def rank_crashes_beside_deaf_ones(home: Path, turn: random.Random) -> float:
    """A rank crashes, and SIGTERM does not end the others."""
    bad = turn.randrange(gangs.NODES)
    with gangs.running_gang(home, turn, deaf=range(gangs.NODES)) as running:
        began = time.monotonic()
        rank = gangs.send_to_a_rank(running, bad, turn)
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["failed"], bad, rank)
        return seconds


def hit(how: signal.Signals, head: bool, runner_only: bool = False) -> Callable[[Path, random.Random], float]:
    """Return the fault that a node's runner, and all processes below it, get a signal: SIGKILL or SIGSTOP."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = 0 if head else turn.randrange(1, gangs.NODES)
        with gangs.running_gang(home, turn) as running:
            victims = gangs.tree(running, bad)[: 1 if runner_only else None]
            began = time.monotonic()
            for process in victims:
                process_tree.send(process, how)
            seconds = gangs.wait_for_end(running, began, bad)
            for process in victims:
                process_tree.send(process, signal.SIGCONT)
            running.runners[bad].wait(gangs.PATIENCE_S)
            gangs.check(running, ["lost"], bad)
            return seconds

    return fault


def pauses(home: Path, turn: random.Random) -> float:
    """A node is paused for less than `lost_after`: the run continues."""
    bad = turn.randrange(gangs.NODES)
    with gangs.running_gang(home, turn) as running:
        return gangs.outlast(running, turn, _frozen(gangs.tree(running, bad)))


@contextlib.contextmanager
def _frozen(victims: list[Process]) -> Iterator[None]:
    for process in victims:
        process_tree.send(process, signal.SIGSTOP)
    yield
    for process in victims:
        process_tree.send(process, signal.SIGCONT)


def busy(home: Path, turn: random.Random) -> float:
    """Other programs want the cores: the run continues."""
    with gangs.running_gang(home, turn) as running:
        return gangs.outlast(running, turn, _load(), BUSY_S)


@contextlib.contextmanager
def _load() -> Iterator[None]:
    with contextlib.ExitStack() as programs:
        for _number in range(BUSY):
            program = programs.enter_context(subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]))
            programs.callback(program.kill)
        yield


def does_not_come(home: Path, turn: random.Random) -> float:
    """A node never joins; the seconds are those after `join_timeout`."""
    missing = turn.randrange(1, gangs.NODES)
    running = gangs.make(home, join_timeout=JOIN_S)
    try:
        running.start(*(rank for rank in range(gangs.NODES) if rank != missing))
        running.wait_phase("waiting", 0)
        seconds = gangs.wait_for_end(running, time.monotonic()) - JOIN_S
        verdict = gangs.check(running, ["failed"], missing)
        assert f"node{missing} did not join; 2 of 3 nodes waited" in str(verdict.why), verdict.why
        assert [state.get("started") for state in map(running.state, range(gangs.NODES))] == [None] * gangs.NODES
        return max(0.0, seconds)
    finally:
        running.end()


def replaced(home: Path, turn: random.Random) -> float:
    """A spare replaces a killed node; the seconds are those until its ranks run."""
    bad, spare = turn.randrange(1, gangs.NODES), gangs.NODES
    with gangs.started(gangs.with_spare(home)) as running:
        gangs.wait_for_spare(running)
        time.sleep(turn.random())
        began = time.monotonic()
        for process in gangs.tree(running, bad):
            process_tree.send(process, signal.SIGKILL)
        others = [rank for rank in range(gangs.NODES) if rank != bad]
        again = [*others, spare]
        wait_for(
            lambda: (
                [running.state(node).get("attempt") for node in again] == [1] * len(again)
                and gangs.ranks_run(running, again)
            ),
            "all ranks run, the spare's too",
            gangs.PATIENCE_S,
        )
        seconds = time.monotonic() - began
        node_ranks = [running.state(node)["node_rank"] for node in again]
        assert node_ranks == [*others, bad], f"node ranks {node_ranks} of nodes {again}, expected {[*others, bad]}"
        gangs.request_stop(running, turn.choice(again))
        gangs.wait_for_end(running, began, bad)
        gangs.check(running, ["stopped"])
        return seconds


def stopped(deaf: bool) -> Callable[[Path, random.Random], float]:
    """Return the event that a run is stopped on one node; deaf: its ranks ignore SIGTERM."""

    def fault(home: Path, turn: random.Random) -> float:
        with gangs.running_gang(home, turn, deaf=range(gangs.NODES) if deaf else ()) as running:
            began = time.monotonic()
            gangs.request_stop(running, turn.randrange(gangs.NODES))
            seconds = gangs.wait_for_end(running, began)
            gangs.check(running, ["stopped"])
            return seconds

    return fault
