# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rank prints of the reason why it fails: an exception, and the warnings of NCCL.

Both may stand far above the last lines. Most lines are neither, and cost one search a block.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence

from ..._records.nccl_message import WARNING, warning_in
from ..._records.raised import TRACEBACK, Raised, TracebackReader

MOST_WARNINGS = 8
# In characters.
LONGEST_WARNING = 500
# So many more steps show that a rank has survived an exception that it printed.
STEPS_AFTER = 2


class Printed:
    """The exception that ended a rank, and NCCL's first warnings after its last step."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._reader = TracebackReader()
        self._step: int | None = None
        # When it made its last steps since the last exception or warning.
        self._moves: collections.deque[float] = collections.deque(maxlen=STEPS_AFTER)

    @property
    def raised(self) -> Raised | None:
        """Return the exception by which the rank failed."""
        return self._reader.raised

    def has_moved_since(self, when: float) -> bool:
        """Return whether the rank has made so many steps since then that its training goes on."""
        return len(self._moves) == STEPS_AFTER and self._moves[0] > when

    def take(self, lines: Sequence[bytes], now: float, step: int | None) -> None:
        """Take the next lines; step is the last one that they name."""
        text = b"\n".join(lines)
        has_traceback, has_warning = TRACEBACK.encode() in text, WARNING.encode() in text
        if self._reader.is_open or has_traceback:
            for line in lines:
                self._reader.feed(line.decode("utf-8", "replace"), now)
        elif lines:
            self._reader.feed(lines[-1].decode("utf-8", "replace"))
        if has_warning:
            self._warn(lines)
        # Not the largest one: a counter may begin again with each epoch.
        is_next = step is not None and (self._step is None or step > self._step)
        self._step = step
        if has_traceback or has_warning:
            self._moves.clear()
        elif is_next:
            self._moves.append(now)
            if len(self._moves) == STEPS_AFTER:
                self.warnings.clear()
                self._reader.forget()

    def _warn(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            warning = warning_in(line.decode("utf-8", "replace"))
            if warning and len(self.warnings) < MOST_WARNINGS:
                self.warnings.append(warning[:LONGEST_WARNING])
