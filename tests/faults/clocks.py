# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's clock is set back: its runner's Python and what its ranks save have the wrong time, no other process."""

from __future__ import annotations

import functools
import os
import random
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.progress import CHECKPOINTS
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.gang import Running
from ansible_collections.muster.train.tests.support.jobs import wait_for

# What Python imports at its start; the file beside it says by how many seconds the clock is set back.
CLOCK = """
import os, time
offset = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seconds")
true_time, true_gmtime = time.time, time.gmtime
def wrong_time():
    with open(offset) as stream:
        return true_time() - float(stream.read())
time.time = wrong_time
time.gmtime = lambda seconds=None: true_gmtime(wrong_time() if seconds is None else seconds)
"""
BACK_S = (2 * 3600, 30 * 86400)
# One more than attempts without progress end a run.
CRASHES = 3


def set_back(home: Path, turn: random.Random) -> float:
    """Set a clock back; then, three times, a checkpoint is saved there and a rank crashes.

    The seconds are the longest from a crash until all ranks run again.
    """
    bad, back = turn.randrange(gangs.NODES), turn.choice(BACK_S)
    clock = home / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(CLOCK)
    (clock / "seconds").write_text("0")
    running = gangs.make(home, max_restarts=CRASHES)
    running.inside[bad] = ["env", f"PYTHONPATH={clock}"]
    with gangs.started(running):
        wait_for(lambda: gangs.ranks_run(running, range(gangs.NODES)), "all ranks run", gangs.PATIENCE_S)
        running.wait_phase("running")
        time.sleep(0.3 + turn.random())
        (clock / "seconds.new").write_text(str(back))
        (clock / "seconds.new").replace(clock / "seconds")
        seconds = []
        for attempt in range(1, CRASHES + 1):
            _save(running.jobs[bad], attempt, time.time() - back)
            began = time.monotonic()
            gangs.send_to_a_rank(running, turn.randrange(gangs.NODES), turn)
            wait_for(functools.partial(_runs_again, running, attempt), f"attempt {attempt} runs", gangs.PATIENCE_S)
            seconds.append(time.monotonic() - began)
        began = time.monotonic()
        gangs.request_stop(running, turn.randrange(gangs.NODES))
        gangs.wait_for_end(running, began)
        ended = seconds_of(running.state(bad)["ended"])
        assert ended is not None and time.time() - ended > back - 60, "the runner's clock was not set back"
        gangs.check(running, ["stopped"])
        return max(seconds)


def _save(job: Job, number: int, when: float) -> None:
    """Save a checkpoint as a rank does under the wrong clock."""
    folder = Path(job.output_dir, CHECKPOINTS)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}.pt"
    path.touch()
    for name in (path, folder):
        os.utime(name, (when, when))


def _runs_again(running: Running, attempt: int) -> bool:
    return (
        gangs.attempts(running) == {attempt} and gangs.all_run(running) and gangs.ranks_run(running, range(gangs.NODES))
    )
