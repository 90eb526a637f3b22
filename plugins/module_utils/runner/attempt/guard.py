# SPDX-License-Identifier: GPL-3.0-or-later
"""The parent of Apptainer, a program of its own: the kernel signals it when the runner dies, and it signals Apptainer.

Apptainer itself would lose this signal: it calls execve(2) from any of its threads, and only the first has it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence


def main(argv: Sequence[str]) -> None:
    """Run the command with this process's descriptors, pass SIGTERM on to it, and end as it does."""
    # A SIGTERM waits until there is a child to pass it on to.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = subprocess.Popen(argv, close_fds=False, preexec_fn=_accept_signals)
    signal.signal(signal.SIGTERM, lambda _number, _frame: child.terminate())
    _accept_signals()
    code = child.wait()
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    raise SystemExit(code)


def _accept_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
