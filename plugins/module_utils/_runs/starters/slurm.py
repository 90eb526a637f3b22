# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a runner as a task of a Slurm step that the controller has begun on all nodes.

A step ends with everything that it started, so a command over srun cannot leave a runner behind. The controller's step
waits on each node for the file that is written here, and its task becomes the runner, whose process ID it leaves there.
"""

from __future__ import annotations

import shlex

from ..._host.host import Host
from ..._records.job import Job
from ..._records.layout import step_command
from ...runner import files, process_tree
from .base import Starter


class Slurm(Starter):
    """A task of the run's own step; with it everything of the run ends on this node."""

    name = "slurm"

    def start(self, host: Host, job: Job, argv: list[str]) -> int | None:
        files.write_atomic(step_command(job.run_dir, job.nonce), (shlex.join(argv) + "\n").encode())
        return None

    def ended(self, host: Host, job: Job, pid: int | None) -> str | None:
        runner = (host.read_text(step_command(job.run_dir, job.nonce)) or "").strip()
        return "it exited immediately" if runner.isdecimal() and process_tree.look(int(runner)) is None else None
