# SPDX-License-Identifier: GPL-3.0-or-later
"""The socket on which the head listens, and the open files that its connections take."""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
import sys
import time

BIND_S = 5.0


def raise_file_limit(files: int) -> int:
    """Raise the limit of open files, no further than to `files` since the ranks inherit it; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft == resource.RLIM_INFINITY or soft >= target:
        return files if soft == resource.RLIM_INFINITY else soft
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        return target
    return soft


def bind(address: str, port: int) -> socket.socket:
    """Return a socket bound to the head's address; to all addresses where a router maps that address to this node."""
    family, _type, _proto, _name, endpoint = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    any_address = ("::" if family == socket.AF_INET6 else "", port)
    deadline = time.monotonic() + BIND_S
    while True:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(endpoint)
            return listener
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL and endpoint != any_address:
                sys.stderr.write(f"{address} is not an address of this node: the runner listens on all addresses\n")
                endpoint = any_address
            elif error.errno != errno.EADDRINUSE or time.monotonic() >= deadline:
                raise
            else:
                time.sleep(0.2)
