# SPDX-License-Identifier: GPL-3.0-or-later
"""All runs of a work directory, and one of them once it has ended."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Sequence

from .._host.host import Host
from .._records import layout
from .._records.job import SAFE_RUN_ID
from .._records.layout import STATE
from .._records.listed_run import ListedRun
from .._records.phases import ENDED
from .._records.run import RunRecord
from .._text.stamps import utc
from ..runner import locks, process_tree
from .read import read_run, read_state, run_directory, strange


def list_runs(host: Host, workdir: str, node: str) -> list[ListedRun]:
    """Return every run of this node in its work directory, newest first."""
    base = layout.runs_dir(workdir, node)
    living_runs = functools.cache(process_tree.living_runs)  # at most one search, and none where locks are enough
    runs = []
    for name in filter(SAFE_RUN_ID.fullmatch, host.list_dir(base) or []):
        if not any(file == STATE or file.startswith("job.") for file in host.list_dir(os.path.join(base, name)) or []):
            continue  # not a run's directory
        path = run_directory(workdir, node, name)
        # One that is refused is listed all the same: asked for by name, it says why.
        refused = strange(host, workdir, node, path) is not None
        written = None if refused else read_state(host, path)
        state = written or RunRecord()
        # A damaged state has no time: that of its directory would make it the newest run.
        created = utc(host.modified(path)) if written is None else written.created
        alive = False
        if state.phase not in ENDED:
            held = not refused and locks.Lock(locks.run_path(path)).holder() is not None
            # As `read_run` knows it, too: a cleaner may have removed the lock of a living runner.
            alive = held or (name, path) in living_runs()
        runs.append(ListedRun(name, created, None if state.phase == "unknown" else state.phase, alive))
    return sorted(runs, key=lambda run: (run.created or "", run.run_id or ""), reverse=True)


def read_ended(host: Host, node: str, workdir: str, run_id: str, docker: Sequence[str], patience: float) -> RunRecord:
    """Return the run once its runner has ended, or as it is after `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        run = read_run(host, node, workdir, run_id, docker)
        if not run.alive or time.monotonic() >= deadline:
            return run
        time.sleep(0.2)
