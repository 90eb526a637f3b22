# SPDX-License-Identifier: GPL-3.0-or-later
"""A check for the oldest Python of a node: a module's first, before an import of it can fail in other words."""

from __future__ import annotations

import json
import os
import sys

from .._records.oldest_python import EXPECTED_PYTHON, OLDEST_PYTHON


def require_python() -> None:
    """End this module as failed if Python is too old; the message names the node, reason_key is for the controller."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    version = ".".join(map(str, sys.version_info[:3]))
    message = f"{os.uname().nodename}: {sys.executable} is Python {version}; Muster needs {EXPECTED_PYTHON} on nodes"
    remedy = "install one there, or name it with ansible_python_interpreter"
    sys.stdout.write(json.dumps({"failed": True, "msg": f"{message}: {remedy}", "reason_key": "old_python"}))
    raise SystemExit(1)
