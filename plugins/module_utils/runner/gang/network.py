# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gang takes from the machine: the clock, the network and chance. A simulation brings its own."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable

from ..._records.frozen import frozen
from .frames import new_nonce
from .listener import bind
from .next_port import keep_port


def reconnect(sock: socket.socket) -> socket.socket:
    """Return a socket that is being connected to the peer of a connected one."""
    address = sock.getpeername()
    other = socket.socket(sock.family, socket.SOCK_STREAM)
    other.setblocking(False)
    error = other.connect_ex(address)
    if error not in (0, errno.EINPROGRESS):
        other.close()
        raise OSError(error, os.strerror(error))
    return other


@frozen
class GangNetwork:
    """clock: seconds on one monotonic clock; connect takes an endpoint and a time limit, bind and keep_port a port."""

    clock: Callable[[], float] = time.monotonic
    nonce: Callable[[], str] = new_nonce
    connect: Callable[[tuple[str, int], float], socket.socket] = socket.create_connection
    reconnect: Callable[[socket.socket], socket.socket] = reconnect
    bind: Callable[[str, int], socket.socket] = bind
    keep_port: Callable[[int], socket.socket] = keep_port
