# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a node has to answer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class LateAnswer(BaseException):
    """The time is over. Not an Exception: Ansible's code handles those."""


@contextmanager
def limited(seconds: int | None) -> Iterator[None]:
    """Raise LateAnswer if the block takes longer; None: it takes as long as it takes."""
    if seconds is None:
        yield
        return

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise LateAnswer(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
