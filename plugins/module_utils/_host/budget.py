# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One time for all commands of a part of the facts.

Each within its own cap is not enough: several slow ones together outlast what the part is given (_node.PROBE_CAP_S),
and then what was read from files is lost with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from .command import CommandResult
from .host import Host

# Leaves the files two of the ten seconds.
BUDGET_S = 8.0


class Budget:
    """Runs commands on a host until the time, which begins now, is up; one that comes later is not started."""

    def __init__(self, host: Host, seconds: float = BUDGET_S) -> None:
        self._host = host
        self._end = monotonic() + seconds

    def left(self, cap: float) -> float:
        """Return how many seconds a command that may take cap s has."""
        return max(0.0, min(cap, self._end - monotonic()))

    def run(self, argv: Sequence[str], cap: float, cwd: str | None = None) -> CommandResult:
        """Return what came of a command that is given cap s or what is left; without time left it is timed out."""
        left = self.left(cap)
        return self._host.run(argv, left, cwd) if left else CommandResult(None, "", "", timed_out=True)
