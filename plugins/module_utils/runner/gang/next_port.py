# SPDX-License-Identifier: GPL-3.0-or-later
"""The port where the ranks of the next attempt will meet: it was free when planned, and the head's runner keeps it."""

from __future__ import annotations

import socket
from collections.abc import Callable


class NextPort:
    """Listens on that port, without ever answering, while there can be another attempt."""

    def __init__(self, first: int, restarts: int, keep: Callable[[int], socket.socket]) -> None:
        self._keep = keep
        self._first = first
        self._restarts = restarts
        self._begun = -1
        self._holder: socket.socket | None = None

    def begin(self, attempt: int) -> None:
        """Give an attempt its port, before any of its ranks can look for it, and keep the one after it."""
        if attempt == self._begun:
            return
        self._begun = attempt
        self.close()
        if attempt < self._restarts:
            try:
                self._holder = self._keep(self._first + attempt + 1)
            except (OSError, OverflowError):
                return  # taken by now: that attempt will fail, and name the port

    def close(self) -> None:
        if self._holder is not None:
            self._holder.close()
            self._holder = None


def keep_port(port: int) -> socket.socket:
    """Listen on all addresses, as torch does."""
    try:
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):  # without IPv6; a port that is taken is refused again
        return socket.create_server(("", port))
