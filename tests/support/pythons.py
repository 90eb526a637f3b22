# SPDX-License-Identifier: GPL-3.0-or-later
"""The other Pythons of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def find_python(version: str) -> str | None:
    """Return an interpreter of this version ("3.8") that runs, on the PATH or of pyenv; None if there is none."""
    command = shutil.which(f"python{version}")
    # pyenv's command of this name runs only where that version is chosen.
    roots = [Path.home() / ".pyenv", *([Path(command).parents[1]] if command else [])]
    installed = [str(path) for root in roots for path in sorted(root.glob(f"versions/{version}.*/bin/python{version}"))]
    for path in filter(None, [*installed, command]):
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None
