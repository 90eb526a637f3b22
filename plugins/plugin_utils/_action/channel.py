# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages from the workers of a task, of which each has a host, to the one that prints what they read."""

from __future__ import annotations

import mmap
import multiprocessing
from typing import Any


class Channel:
    """What the workers share: it is made in the controller, before they are forked. A full pipe makes senders wait."""

    def __init__(self) -> None:
        self._messages = multiprocessing.get_context("fork").SimpleQueue()
        self._closed = mmap.mmap(-1, 1)

    @property
    def is_closed(self) -> bool:
        """Whether messages are no longer received."""
        return bool(self._closed[0])

    def open(self) -> None:
        """Begin to receive."""
        self._closed[0] = False

    def close(self) -> None:
        """Stop receiving."""
        self._closed[0] = True

    def send(self, message: object) -> None:
        """Send a message, which is copied as by `pickle`."""
        self._messages.put(message)

    def receive(self) -> Any:
        """Return the next message, None where there is none yet."""
        return None if self._messages.empty() else self._messages.get()
