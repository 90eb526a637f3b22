# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection between two runners in the runner's event loop: nothing blocks, and nothing grows without bound."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
from collections.abc import Callable

from .frames import Forged, Lines

READ_BYTES = 1 << 16
# A peer that leaves more than this unread is given up.
MAX_UNSENT_BYTES = 1 << 16


class Connection:
    """A connected socket that carries lines; `on_line` gets every line, `on_end` the reason why no more will come."""

    def __init__(
        self,
        sock: socket.socket,
        selector: selectors.BaseSelector,
        on_line: Callable[[bytes], None],
        on_end: Callable[[str], None],
    ) -> None:
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = Lines()
        self.open = True
        self.sock = sock
        self._selector = selector
        self._on_line = on_line
        self._on_end = on_end
        self._unsent = b""
        self._wanted = selectors.EVENT_READ
        selector.register(sock, self._wanted, self.ready)

    @property
    def unsent(self) -> int:
        """Return how many bytes have not been sent yet."""
        return len(self._unsent)

    def listen_to(self, on_line: Callable[[bytes], None], on_end: Callable[[str], None]) -> None:
        """Pass further lines, and the end, to these callbacks."""
        self._on_line, self._on_end = on_line, on_end

    def send(self, line: bytes) -> None:
        """Send a line, now or once the other side has read enough."""
        if not self.open:
            return
        self._unsent += line
        self._flush()

    def ready(self, events: int) -> None:
        """Send and receive what is possible; called by the selector."""
        if events & selectors.EVENT_WRITE:
            self._flush()
        if events & selectors.EVENT_READ and self.open:
            self._read()

    def close(self) -> None:
        """Close the connection without calling `on_end`."""
        if self.open:
            self.open = False
            self._selector.unregister(self.sock)
            self.sock.close()

    def _read(self) -> None:
        try:
            data = self.sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(os.strerror(error.errno) if error.errno else str(error))
            return
        if not data:
            self._end("the connection was closed")
            return
        self.lines.feed(data)
        try:
            while self.open:
                line = self.lines.take()
                if line is None:
                    return
                self._on_line(line)
        except Forged as error:
            self._end(str(error))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # No input of a stranger may end the runner.
            self._end(f"malformed line ({type(error).__name__})")

    def _flush(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self.sock.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._end(os.strerror(error.errno) if error.errno else str(error))
            return
        if len(self._unsent) > MAX_UNSENT_BYTES:
            self._end("the other side does not read")
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if wanted != self._wanted:
            self._wanted = wanted
            self._selector.modify(self.sock, wanted, self.ready)

    def _end(self, why: str) -> None:
        self.close()
        self._on_end(why)
