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
from .._findings.errors import UserError
from . import folder

# Options with which Ansible asks for a password.
ASKING = {"ask_pass": "-k", "become_ask_pass": "-K", "ask_vault_pass": "-J"}


def refuse_questions(verb: str, options: Mapping[str, Any]) -> None:
    """Refuse options of Ansible with which it would ask for a password at each command."""
    asking = [name for option, name in ASKING.items() if options.get(option)]
    asking += ["--vault-id" for vault in options.get("vault_ids") or () if str(vault).endswith("prompt")]
    if asking:
        raise UserError(
            f"{asking[0]}: {verb} runs many commands, which cannot ask for a password; give it in a file: "
            "--connection-password-file, --become-password-file or --vault-password-file"
        )


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
