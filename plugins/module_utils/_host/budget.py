# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit that all commands of a probe share.

A cap per command is not enough: several slow commands together would exceed the probe's cap (PROBE_CAP_S in
_facts/gather.py), and what the probe read from files would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from .command import NO_ANSWER, CommandResult
from .host import Host

# Leaves two of the probe's ten seconds for files.
BUDGET_S = 8.0


class Budget:
    """Runs commands on a host within a time limit that starts now; later commands are not started."""

    def __init__(self, host: Host, seconds: float = BUDGET_S) -> None:
        self._host = host
        self._end = monotonic() + seconds

    def left(self, cap: float) -> float:
        """Return the seconds left for a command with this cap."""
        return max(0.0, min(cap, self._end - monotonic()))

    def run(self, argv: Sequence[str], cap: float, cwd: str | None = None) -> CommandResult:
        """Run a command for at most cap s or the time left; without time left it is timed out."""
        left = self.left(cap)
        return self._host.run(argv, left, cwd) if left else NO_ANSWER
