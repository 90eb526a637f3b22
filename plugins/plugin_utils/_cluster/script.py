# SPDX-License-Identifier: GPL-3.0-or-later
"""What the script of a launch is: a file, one that the runner brings, or with the launcher exec a program."""

from __future__ import annotations

from .._request.benchmark import SCRIPTS

EXEC = "exec"
PYTHON_ENDINGS = (".py", ".pyz")


def is_python(script: str) -> bool:
    """Return whether the launcher exec runs a script with Python; any other it executes."""
    return script.endswith(PYTHON_ENDINGS)


def is_brought(script: object) -> bool:
    """Return whether the runner brings a script into the run's directory."""
    return script in SCRIPTS.values()


def is_program_name(launcher: object, script: object) -> bool:
    """Return whether a script names a program, which the node looks up when it starts it, instead of a file."""
    return launcher == EXEC and isinstance(script, str) and "/" not in script and not is_python(script)
