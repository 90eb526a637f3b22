# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs as commands of their own, which reach the nodes as the user's command does: for a sweep, and an acceptance."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._action.child import ChildCommand
from .._action.files import write_text
from .._action.private import private_files
from . import folder


def start_child(
    request: Mapping[str, Any], home: Path, verb: str, parameters: Mapping[str, Any], name: str, output: str
) -> ChildCommand:
    """Start a verb on the runs of a directory. Its parameters are in a private file, as they may be secret."""
    options = home / f"{name}.{verb}.json"
    with private_files():
        content = json.dumps({"launch_experiments_dir": str(home), **parameters})
        write_text(options, content, folder.OPTION, folder.EXPECTED)
    words = [*request["options"], "-e", f"@{options}", "-e", f"output={output}", f"muster.train.{verb}"]
    # Whatever callback this command has: the standard output of its children is their documents alone.
    callback = {"ANSIBLE_STDOUT_CALLBACK": "muster.train.brief"}
    return ChildCommand(words, {**os.environ, **request["environment"], **callback}, home / f"{name}.log")
