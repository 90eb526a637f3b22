# SPDX-License-Identifier: GPL-3.0-or-later
"""A node, a runner or a rank that dies, is paused, or never starts."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import wait_for

# Shorter than `lost_after`.
PAUSE_S = 6.0
JOIN_S = 5


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
        before = [gangs.ranks(running, rank) for rank in range(gangs.NODES)]
        victims = gangs.tree(running, bad)
        for process in victims:
            process_tree.send(process, signal.SIGSTOP)
        time.sleep(PAUSE_S)
        for process in victims:
            process_tree.send(process, signal.SIGCONT)
        time.sleep(1.0)
        now = [{rank: p.pid for rank, p in gangs.ranks(running, node).items()} for node in range(gangs.NODES)]
        assert now == [{rank: p.pid for rank, p in node.items()} for node in before], "the ranks were restarted"
        assert gangs.all_run(running), f"the pause ended it: {running.phases()}"
        began = time.monotonic()
        gangs.request_stop(running, turn.randrange(gangs.NODES))
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["stopped"])
        return seconds


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
