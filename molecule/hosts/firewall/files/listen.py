# SPDX-License-Identifier: GPL-3.0-or-later
"""Listen on the ports of the argument (a JSON list), with IPv4 and IPv6, and send back what comes, for a while."""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

waiting = selectors.DefaultSelector()
for port in json.loads(sys.argv[1]):
    waiting.register(
        socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True), selectors.EVENT_READ, True
    )
end = time.monotonic() + 120
while time.monotonic() < end:
    for key, _events in waiting.select(1):
        if key.data:
            waiting.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
            continue
        try:
            data = key.fileobj.recv(100)
        except OSError:
            data = b""
        if data:
            key.fileobj.sendall(data)
        else:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
