# SPDX-License-Identifier: GPL-3.0-or-later
"""Container runtimes and schedulers of a node, with the versions they print."""

from __future__ import annotations

import re

from .._host.budget import Budget
from .._host.host import Host
from .._records.system import Tools

# Commands by tool that print their version without a daemon or server, and the start of their output.
COMMANDS = {
    "docker": (("docker", "Docker version"),),
    "podman": (("podman", "podman version"),),
    "apptainer": (("apptainer", "apptainer version"), ("singularity", "singularity")),
    "slurm": (("srun", "slurm"),),
}
TIMEOUT_S = 2.0
# The pattern backtracks over long runs of digits.
LINE_LIMIT = 200
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+[^\s,]*")


def parse_version(text: str, begins: str) -> str | None:
    """Return the version in an output with this start, because `docker` may be podman."""
    match = _VERSION.search(text[:LINE_LIMIT]) if text.startswith(begins) else None
    return match.group() if match else None


def read_tools(host: Host) -> Tools:
    """Return the versions of the tools in this user's PATH."""
    budget = Budget(host)
    return Tools(**{tool: _ask(budget, commands) for tool, commands in COMMANDS.items()})


def _ask(budget: Budget, commands: tuple[tuple[str, str], ...]) -> str | None:
    for command, begins in commands:
        version = parse_version(budget.run([command, "--version"], TIMEOUT_S).out, begins)
        if version is not None:
            return version
    return None
