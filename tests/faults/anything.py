# SPDX-License-Identifier: GPL-3.0-or-later
"""Any fault at any moment after the start: the seed decides what, where and when."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import containers, disks, gangs, ports
from ansible_collections.muster.train.tests.support.gang import Running

MOMENTS_S = 2.5
# A runner waits no longer for one that will never join.
JOIN_S = 10
# How often no controller stops the other runners of a launch that is not complete: they then wait for a minute.
ALONE = 0.15


@contextlib.contextmanager
def at_any_moment(home: Path, turn: random.Random) -> Iterator[Running]:
    """Yield a gang at a random moment; on some nodes the ranks ignore SIGTERM."""
    deaf = [rank for rank in range(gangs.NODES) if turn.random() < 0.2]
    with gangs.started(gangs.make(home, deaf, join_timeout=JOIN_S)) as running:
        time.sleep(turn.random() * MOMENTS_S)
        yield running


def finish(running: Running, turn: random.Random, begun: bool, began: float) -> float:
    """Wait until all runners have ended; return the seconds."""
    if not begun and turn.random() >= ALONE:
        gangs.stop_launch(running.jobs)
    return gangs.wait_for_end(running, began)


def stop_on(running: Running, turn: random.Random, bad: int) -> float:
    """Stop the run on this node, and wait for the end."""
    began = time.monotonic()
    begun = gangs.all_run(running)
    gangs.request_stop(running, bad)
    seconds = finish(running, turn, begun, began)
    gangs.check(running, ["stopped"])
    return seconds


def stop(home: Path, turn: random.Random) -> float:
    with at_any_moment(home, turn) as running:
        return stop_on(running, turn, turn.randrange(gangs.NODES))


def rank(home: Path, turn: random.Random) -> float:
    bad = turn.randrange(gangs.NODES)
    with at_any_moment(home, turn) as running:
        alive = gangs.ranks(running, bad)
        if not alive:
            return stop_on(running, turn, bad)
        number, process = turn.choice(sorted(alive.items()))
        began = time.monotonic()
        process_tree.send(process, signal.SIGKILL)
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["failed"], bad, number)
        return seconds


def agent(home: Path, turn: random.Random) -> float:
    bad = turn.randrange(gangs.NODES)
    with at_any_moment(home, turn) as running:
        pid = (running.state(bad).get("launcher") or {}).get("pid")
        launcher = process_tree.look(pid) if pid else None
        if launcher is None:
            return stop_on(running, turn, bad)
        began = time.monotonic()
        process_tree.send(launcher, signal.SIGKILL)
        seconds = gangs.wait_for_end(running, began)
        gangs.check(running, ["failed"], bad)
        return seconds


def node(runner_only: bool) -> Callable[[Path, random.Random], float]:
    """Return the fault that a runner is killed, alone or with all processes of its node."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = turn.randrange(gangs.NODES)
        with at_any_moment(home, turn) as running:
            victims = gangs.tree(running, bad)[: 1 if runner_only else None]
            began = time.monotonic()
            begun = gangs.all_run(running)
            for process in victims:
                process_tree.send(process, signal.SIGKILL)
            seconds = finish(running, turn, begun, began)
            gangs.check(running, ["lost"] if begun else gangs.NOT_STARTED, bad if begun else None)
            return seconds

    return fault


def disk(home: Path, turn: random.Random) -> float:
    """A node's disk fills up; a run that has started continues, and can be stopped on any node."""
    bad = turn.randrange(gangs.NODES)
    with disks.small(home / f"node{bad}") as place, at_any_moment(home, turn) as running:
        began = time.monotonic()
        begun = gangs.all_run(running)
        disks.fill(place)
        if begun:
            time.sleep(turn.random())
            assert gangs.all_run(running), f"a full disk ended it: {running.phases()}"
        gangs.stop_module(running.jobs[turn.randrange(gangs.NODES)], gangs.STOP_GRACE_S)
        seconds = finish(running, turn, begun, began)
        # A runner that cannot write its first state is like one that never joins.
        gangs.check(running, ["stopped"] if begun else gangs.NOT_STARTED)
        return seconds


WAYS: dict[str, Callable[[Path, random.Random], float]] = {
    "a container is killed": containers.killed,
    "a rank is killed": rank,
    "an agent is killed": agent,
    "a runner is killed": node(runner_only=True),
    "a node is killed": node(runner_only=False),
    "a stop": stop,
    "a disk fills up": disk,
    "the runners' port is taken": ports.of_the_gang,
    "the ranks' port is taken": ports.of_the_ranks,
    "the next attempt's port is taken": ports.of_the_next_attempt,
}
NEEDS = {"a container is killed": containers.skip_reason, "a disk fills up": disks.skip_reason}
OFTEN = ("a rank is killed", "an agent is killed", "a runner is killed", "a node is killed", "a stop")


def anything(home: Path, turn: random.Random) -> float:
    """Inject one of these faults."""
    ways = [way for way in WAYS if way not in NEEDS or NEEDS[way]() is None]
    way = turn.choice([*ways, *OFTEN, *OFTEN])
    try:
        return WAYS[way](home, turn)
    except AssertionError as error:
        raise AssertionError(f"{way}: {error}") from error
