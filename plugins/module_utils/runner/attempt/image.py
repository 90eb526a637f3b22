# SPDX-License-Identifier: GPL-3.0-or-later
"""A launcher that starts in an image: its parent, and its environment, a script for the shell that is first in there.

Apptainer's own --env-file is a script too, but is evaluated outside of the image, where the image's variables are not
known, and some names are reserved there. This script is on no disk, because it has the secrets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

# The image's own part of these stays, behind the run's: Apptainer puts the GPU driver's libraries there.
JOINED = ("PYTHONPATH", "LD_LIBRARY_PATH")
# A file system in memory on every Linux.
MEMORY = "/dev/shm"
GUARD = "import sys; sys.path.insert(0, sys.argv[1]); from muster.runner.attempt.guard import main; main(sys.argv[2:])"


def guard(run_dir: str) -> list[str]:
    """Return what stands in front of Apptainer's command, so that a killed runner does not leave the ranks."""
    return [sys.executable, "-I", "-S", "-c", GUARD, os.path.join(run_dir, "runner.pyz")]


def render(environment: Mapping[str, str]) -> bytes:
    """Return the script; no character of a value has a meaning in it."""
    lines = []
    for name, value in environment.items():
        quoted = "'" + value.replace("'", "'\\''") + "'"
        joined = f'"${{{name}:+:${name}}}"' if name in JOINED else ""
        lines.append(f"export {name}={quoted}{joined}\n")
    return os.fsencode("".join(lines))


def open_script(environment: Mapping[str, str]) -> int:
    """Return a descriptor from which the script is read; raise OSError."""
    descriptor = os.open(MEMORY, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    left = memoryview(render(environment))
    while left:
        left = left[os.write(descriptor, left) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
