# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook on a terminal, as a person runs it."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Callable

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import ROOT, Played

LIMIT_S = 300


def wait_for_end(pid: int) -> int:
    """Return the status of a child that ends by itself; else kill it and fail."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"it did not end within {LIMIT_S} s of the end of its terminal")


def on_terminal(cluster: Cluster, press: Callable[[str], bytes], *arguments: str) -> Played:
    """Run a playbook on a terminal of its own, pressing keys as `press` says when it has read what was printed."""
    return command_on_terminal(cluster.command(*arguments), cluster.environment(TERM="xterm"), press)


def command_on_terminal(argv: list[str], environment: dict[str, str], press: Callable[[str], bytes]) -> Played:
    """Run a command on a terminal of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the tests ignore it, and Ansible would, too
        os.chdir(ROOT)
        os.execve(argv[0], argv, environment)
    screen = b""
    deadline = time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                read = os.read(terminal, 1 << 16)
            except OSError:  # how Linux says that the other end is closed
                break
            if not read:
                break
            screen += read
            if keys := press(screen.decode(errors="replace")):
                os.write(terminal, keys)
        else:
            raise AssertionError(f"still there after {LIMIT_S} s: {screen.decode(errors='replace')}")
    finally:
        os.close(terminal)
        status = wait_for_end(pid)
    return Played(os.waitstatus_to_exitcode(status), screen.decode().replace("\r\n", "\n"))
