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
    child = subprocess.Popen(argv, close_fds=False)
    signal.signal(signal.SIGTERM, lambda _number, _frame: child.terminate())
    code = child.wait()
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    raise SystemExit(code)
