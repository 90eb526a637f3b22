# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the program of a job is: a path as it is; a name beside the interpreter of the job, or on PATH."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of a program; raise FileNotFoundError, which names where it was searched. Waits for the storage.

    Beside the interpreter first: a virtual environment has its programs there, and nothing activates it.
    """
    if os.path.dirname(name):
        return name
    beside, path = os.path.dirname(environment.get("MUSTER_PYTHON", "")), environment.get("PATH", os.defpath)
    program = shutil.which(name, path=os.pathsep.join(filter(None, (beside, path))))
    if program is None:
        where = f"neither beside the interpreter in {beside} nor" if beside else "not"
        # PATH is last: a message that is cut loses its end.
        why = f"it is {where} on PATH; install it there, or give its path (PATH is {path})"
        raise FileNotFoundError(errno.ENOENT, why)
    return program
