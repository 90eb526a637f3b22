# SPDX-License-Identifier: GPL-3.0-or-later
"""A stop while the run is being started on a node, both by their modules."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._runs.start import start
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job, state_of

# From the first file to the ranks, on a busy machine.
STARTING_S = 0.6
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(7200)"]


def _start(job: Job) -> None:
    with contextlib.suppress(StartError):  # it was stopped before it ran
        start(Host(), job, RUNNER)


def stop_meets_start(home: Path, turn: random.Random) -> float:
    """Stop a run at any moment of its start; the seconds are the stop's."""
    job = make_job(home, SLEEP)
    starting = threading.Thread(target=_start, args=(job,))
    try:
        starting.start()
        time.sleep(turn.random() * STARTING_S)
        began = time.monotonic()
        _changed, run, _swept = stop(Host(), job.node, job.workdir, job.run_id, None, 1.0, False, gangs.DOCKER)
        seconds = time.monotonic() - began
        starting.join(gangs.PATIENCE_S)
        assert not starting.is_alive(), "the start does not end"
        if run.phase == "not_found":  # there was nothing to stop yet
            gangs.stop_module(job, 1.0)
        left = [process_tree.command(process.pid) for process in process_tree.processes_of(job.run_id, job.run_dir)]
        assert left == [], f"stop returned {run.phase}, and now these run: {left}"
        phase = state_of(job).get("phase")
        # A start that was stopped before it wrote a job leaves no state.
        assert phase in ("stopped", None), f"stop returned {run.phase}, and the state is {phase}"
        return seconds
    finally:
        gangs.stop_module(job, 0.0)
