# SPDX-License-Identifier: GPL-3.0-or-later
"""Connect to each [address, port] of the first argument (JSON), from the address of the second one unless it is empty.

With more arguments: hold the first connection while they run as a command, and say whether it is still good then.
Answer {"address port": "connected" or the error's name}, as JSON.
"""

from __future__ import annotations

import errno
import json
import socket
import subprocess
import sys
import time


def connect(address: str, port: int) -> socket.socket | str:
    """Connect, and wait a while for somebody who has not begun to listen."""
    end = time.monotonic() + 5
    while True:
        try:
            return socket.create_connection((address, port), timeout=3, source_address=source)
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, type(error).__name__)
            if name != "ECONNREFUSED" or time.monotonic() > end:
                return name
        time.sleep(0.1)


targets = json.loads(sys.argv[1])
source = (sys.argv[2], 0) if sys.argv[2] else None
answers = {}
if sys.argv[3:]:
    held = connect(*targets[0])
    subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL, check=True)
    answers["held"] = held
    if isinstance(held, socket.socket):
        held.sendall(b"still there?")
        answers["held"] = held.recv(100).decode()
for target in targets:
    made = connect(*target)
    answers[" ".join(map(str, target))] = made if isinstance(made, str) else "connected"
sys.stdout.write(json.dumps(answers) + "\n")
