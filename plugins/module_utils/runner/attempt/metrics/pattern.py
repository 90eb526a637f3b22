# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress by a pattern of the user's own: a regular expression with named groups (`metrics_pattern`)."""

from __future__ import annotations

import re
import signal
from typing import Any

from ...._records.run import Progress
from .numbers import number

# A pattern that takes longer for a line is not applied again: the runner has more to do.
LONGEST_S = 0.2


class _TooSlow(Exception):
    """The pattern has taken its time."""


class MetricsPattern:
    """The pattern, applied to one line at a time; one that this Python cannot compile matches nothing."""

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern: re.Pattern[str] | None = re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            self._pattern = None

    def parse(self, line: str) -> Progress | None:
        """Return the progress that the named groups have, None where the pattern does not match."""
        match = self._search(line)
        values = {name: number(text) for name, text in match.groupdict().items()} if match else {}
        progress = Progress(**{name: value for name, value in values.items() if name in GROUPS})
        return None if progress == Progress() else progress

    def _search(self, line: str) -> re.Match[str] | None:
        """Search within the time; a match that runs away is interrupted by a signal, as `re` looks for those."""
        if self._pattern is None:
            return None
        try:
            before = signal.signal(signal.SIGALRM, _interrupt)
        except ValueError:  # not in the main thread, where no runner reads its lines
            return self._pattern.search(line)
        try:
            signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
            try:
                return self._pattern.search(line)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _TooSlow:
            self._pattern = None
            return None
        finally:
            signal.signal(signal.SIGALRM, before)


# The names of groups: what the runner takes from them. The controller checks them (`_request/parameters.py`).
GROUPS = ("step", "total_steps", "loss", "tokens_per_s", "samples_per_s")


def _interrupt(_number: int, _frame: Any) -> None:
    raise _TooSlow
