# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands on the controller: as if the user had set none of their options, and with errors to read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from .._findings.command_end import RunLimited
from .._findings.errors import UserError
from .job import TIMES
from .step_command import without_options

# slurmctld may be busy for seconds; then the clients try again by themselves.
PATIENCE_S = 30.0
NOT_FOUND = 127  # of env(1)
# Runs a command of Slurm and returns what it prints; raises UserError where it fails.
RunCommand = Callable[[Sequence[str]], str]


def run_slurm(run: RunLimited, argv: Sequence[str]) -> str:
    """Return what a command of Slurm prints; raise UserError where it fails."""
    done = run([*without_options(os.environ), *([TIMES] if argv[0] == "squeue" else []), *argv], PATIENCE_S)
    if done.missing or done.rc == NOT_FOUND:
        raise UserError(
            f"{argv[0]} was not found on this machine: run this on a login node of the cluster, install its client "
            "(Debian: apt install slurm-client), or give the nodes with node_list and connection: ssh"
        )
    if done.rc != 0:
        raise UserError(f"{argv[0]} failed: {done.why(PATIENCE_S)}")
    return done.out
