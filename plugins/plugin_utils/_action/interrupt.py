# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C as an answer: where a worker awaits it, the play continues instead of ending."""

from __future__ import annotations

import mmap
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .controller import is_controller

AWAITED, PRESSED = 0, 1


class Interrupt:
    """What the controller and a worker share: it is made in the controller, before the worker is forked."""

    def __init__(self) -> None:
        self._flags = mmap.mmap(-1, 2)
        self._ending = signal.getsignal(signal.SIGINT)
        if is_controller() and callable(self._ending):
            signal.signal(signal.SIGINT, self._on_interrupt)

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C was pressed in the block of `awaited` that is running."""
        return bool(self._flags[PRESSED])

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Let the first Ctrl-C be an answer; a second one ends the play."""
        self._flags[AWAITED], self._flags[PRESSED] = True, False
        try:
            yield
        finally:
            self._flags[AWAITED], self._flags[PRESSED] = False, False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._flags[AWAITED] and not self.pressed:
            self._flags[PRESSED] = True
        elif callable(self._ending):
            self._ending(number, frame)
