# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults injected into gangs of real runners, again and again: what became of the run, and how long that took.

usage: python tests/faults/suite.py [--rounds 20] [--injections 200] [--seed 1] [--json FILE]

Every round makes a gang of three nodes on this machine, breaks it at a moment that the seed decides, and then looks:
all runners have ended, the verdict is right, nothing of the run is left, and a stranger beside it goes on. Prints a
table of how often that held and the seconds from the fault to the end of the last runner, and the bound they are wanted
below.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils._host import Host
from ansible_collections.muster.train.plugins.module_utils._runs import read_run
from ansible_collections.muster.train.plugins.module_utils._stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import _processes
from ansible_collections.muster.train.plugins.plugin_utils._verdict import judge
from ansible_collections.muster.train.tests.gang import Running, make_gang

NODES = 3
IDLE = "import time; time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {IDLE}"
CRASH = "import os, time\nwhile not os.path.exists('crash'): time.sleep(0.02)\nraise SystemExit(7)"
STOP_GRACE_S = 3.0
# Longer than any bound, and than a head waits for a runner that was killed before it came.
PATIENCE_S = 100.0


@dataclass
class Figure:
    """One row: how often a fault was made and all held, the seconds of those rounds, and what went wrong in others."""

    fault: str
    bound_s: float | None
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def gang(home: Path, codes: Sequence[str]) -> Running:
    """Start a gang whose nodes run these programs in their work directories."""
    running = Running(make_gang(home, [[sys.executable, "-c", code] for code in codes]))
    running.start()
    return running


def end(running: Running, began: float) -> float:
    """Wait until every runner that can has ended; return the seconds since."""
    for runner in running.runners.values():
        runner.wait(PATIENCE_S)
    return time.monotonic() - began


def look(running: Running, verdicts: Iterable[str], node: str | None = None) -> None:
    """Check the verdict, clean up as `stop` does, and check that nothing is left."""
    runs = [read_run(Host(), job.node, job.workdir, job.run_id, ["docker"]) for job in running.jobs]
    found = judge(runs)
    assert found.verdict in verdicts, f"verdict {found.verdict} ({found.why}), expected {' or '.join(verdicts)}"
    assert node in (None, found.node) or node in str(found.why), f"the cause is {found.why}, expected {node}"
    for rank, runner in running.runners.items():
        if runner.poll() is not None and runner.returncode >= 0:  # it ended by itself: nobody has to sweep
            job = running.jobs[rank]
            assert _processes.of_run(job.run_id, job.run_dir) == [], f"{job.node}: its runner left processes behind"
    for job in running.jobs:
        stop(Host(), job.node, job.workdir, job.run_id, None, 1.0, False, ["docker"])
        left = _processes.of_run(job.run_id, job.run_dir)
        assert left == [], f"{job.node}: {len(left)} processes are left"


def tree(running: Running, rank: int) -> list[_processes.Process]:
    """Return the runner of a node and all below it."""
    pid = running.runners[rank].pid
    own = _processes.look(pid)
    return [*([own] if own else []), *_processes.descendants(pid)]


def a_rank_crashes(home: Path, turn: random.Random) -> float:
    bad = turn.randrange(NODES)
    running = gang(home, [CRASH if rank == bad else IDLE for rank in range(NODES)])
    try:
        running.wait_phase("running")
        time.sleep(turn.random())
        began = time.monotonic()
        (home / f"node{bad}" / "crash").touch()
        seconds = end(running, began)
        look(running, ["failed"], f"node{bad}")
    finally:
        running.end()
    return seconds


def a_node_is(how: signal.Signals, head: bool) -> Callable[[Path, random.Random], float]:
    """Return the fault that a node's runner and all below it are killed, or stand still."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = 0 if head else turn.randrange(1, NODES)
        running = gang(home, [IDLE] * NODES)
        try:
            running.wait_phase("running")
            time.sleep(turn.random())
            began = time.monotonic()
            hit = tree(running, bad)
            for process in hit:
                _processes.send(process, how)
            others = Running(running.jobs, {rank: one for rank, one in running.runners.items() if rank != bad})
            seconds = end(others, began)
            for process in hit:
                _processes.send(process, signal.SIGCONT)
            running.runners[bad].wait(PATIENCE_S)
            look(running, ["lost"], f"node{bad}")
        finally:
            running.end()
        return seconds

    return fault


def stopped(code: str) -> Callable[[Path, random.Random], float]:
    """Return the event that a run of such ranks is stopped on one node."""

    def fault(home: Path, turn: random.Random) -> float:
        running = gang(home, [code] * NODES)
        try:
            running.wait_phase("running")
            time.sleep(0.5 + turn.random())
            began = time.monotonic()
            ask(running, turn.randrange(NODES))
            seconds = end(running, began)
            look(running, ["stopped"])
        finally:
            running.end()
        return seconds

    return fault


def ask(running: Running, rank: int) -> None:
    """Ask one node to stop, as the module does."""
    job = running.jobs[rank]
    Path(job.run_dir).mkdir(parents=True, exist_ok=True)
    request = {"why": "stop was asked for", "grace": STOP_GRACE_S}
    new = Path(f"{job.run_dir}/stop.new")
    new.write_text(json.dumps(request))
    new.replace(f"{job.run_dir}/stop.{job.nonce}")


def anything(home: Path, turn: random.Random) -> float:
    """Kill a runner, a launcher or all of a node, or ask for a stop, at any moment from the start on."""
    running = gang(home, [IDLE] * NODES)
    try:
        time.sleep(turn.random() * 2.5)
        bad, what = turn.randrange(NODES), turn.choice(["runner", "launcher", "node", "stop"])
        began = time.monotonic()
        below = _processes.descendants(running.runners[bad].pid)
        verdicts = ["lost", "failed", "incomplete"]  # before the start a killed runner is one that did not come
        if what == "stop":
            # A head that leaves before the others have come can't tell them.
            verdicts = ["stopped"] if bad or below else ["stopped", "failed"]
            ask(running, bad)
        elif what == "launcher":
            verdicts = ["failed"] if below else ["stopped"]
            if not below:
                ask(running, bad)
            for process in below:
                _processes.send(process, signal.SIGKILL)
        else:
            for process in tree(running, bad) if what == "node" else tree(running, bad)[:1]:
                _processes.send(process, signal.SIGKILL)
        seconds = end(running, began)
        look(running, verdicts)
    except AssertionError as error:
        raise AssertionError(f"{what} of node{bad}: {error}") from error
    finally:
        running.end()
    return seconds


FAULTS: dict[str, tuple[float | None, Callable[[Path, random.Random], float]]] = {
    "a rank crashes, its peers idle": (15.0, a_rank_crashes),
    "a node is killed": (30.0, a_node_is(signal.SIGKILL, head=False)),
    "a node freezes": (30.0, a_node_is(signal.SIGSTOP, head=False)),
    "the head is killed": (30.0, a_node_is(signal.SIGKILL, head=True)),
    "the head freezes": (30.0, a_node_is(signal.SIGSTOP, head=True)),
    "a stop, heeded": (5.0, stopped(IDLE)),
    "a stop, ignored by the ranks": (STOP_GRACE_S + 5.0, stopped(DEAF)),
    "anything at any moment": (None, anything),
}


def make(fault: str, rounds: int, seed: int, at_once: int) -> Figure:
    """Make a fault so many times, each in a directory of its own, with a stranger beside them."""
    bound, inject = FAULTS[fault]
    figure = Figure(fault, bound)
    stranger = subprocess.Popen([sys.executable, "-c", IDLE], env={**os.environ, "MUSTER_RUN_ID": "test_run"})

    def one(number: int) -> None:
        figure.rounds += 1
        with tempfile.TemporaryDirectory(prefix="muster-faults-") as home:
            try:
                figure.seconds.append(inject(Path(home), random.Random(f"{seed} {fault} {number}")))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                figure.wrong.append(f"round {number}: {error}")

    try:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, range(rounds)))
        if stranger.poll() is not None:
            figure.wrong.append("a stranger was hit")
    finally:
        stranger.kill()
        stranger.wait()
    return figure


def row(figure: Figure) -> str:
    """Return a figure's line of the table."""
    bound = "" if figure.bound_s is None else f"{figure.bound_s:.0f}"
    times = [f"{statistics.median(figure.seconds):.1f}", f"{max(figure.seconds):.1f}"] if figure.seconds else ["", ""]
    return f"{figure.fault:32} {len(figure.seconds):4} of {figure.rounds:<4} {times[0]:>8} {times[1]:>7} {bound:>7}"


HEADERS = f"{'fault':32} {'all held':>12} {'median s':>8} {'worst s':>7} {'bound s':>7}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--injections", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=1, help="rounds side by side; the seconds are longer then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(HEADERS)
    figures = []
    for fault in FAULTS:
        rounds = options.injections if FAULTS[fault][0] is None else options.rounds
        figures.append(make(fault, rounds, options.seed, options.at_once))
        print(row(figures[-1]), flush=True)
        for wrong in figures[-1].wrong:
            print(f"    {wrong}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    over = [figure for figure in figures if figure.bound_s and max(figure.seconds, default=0) > figure.bound_s]
    if over or any(figure.wrong for figure in figures):
        raise SystemExit(
            f"{sum(len(figure.wrong) for figure in figures)} rounds went wrong; above the bound: {len(over)}"
        )


if __name__ == "__main__":
    main()
