# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines match what the user looks for. A pattern may never finish on one line: its time is limited."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterable
from types import FrameType

from .._findings.errors import UserError, display

LIMIT_S = 2.0


class _TooSlowError(Exception):
    """The pattern did not finish in time."""


def _on_alarm(_signal: int, _frame: FrameType | None) -> None:
    raise _TooSlowError


class Grep:
    """A regular expression that the request has checked, or None, which matches every line."""

    def __init__(self, pattern: str | None) -> None:
        self._pattern = re.compile(pattern) if pattern else None

    def matches(self, texts: Iterable[str]) -> list[bool]:
        """Return whether each text matches; raise UserError if that takes too long."""
        if self._pattern is None:
            return [True for _text in texts]
        # Python looks for signals while it matches, in the main thread only.
        is_limited = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGALRM, _on_alarm) if is_limited else None
        try:
            if is_limited:
                signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
            return [self._pattern.search(text) is not None for text in texts]
        except _TooSlowError:
            raise UserError(
                f"grep: {display(self._pattern.pattern)} did not finish within {LIMIT_S:.0f} s on lines of this run; "
                "expected a pattern without nested repetitions such as (a+)+; give a simpler one"
            ) from None
        finally:
            if is_limited:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
