# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands with which a user continues with a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .carried import carried_options

TITLES = {"follow": "follow again", **{verb: verb for verb in ("stop", "status", "logs", "stacks", "report")}}


def options_of(argv: Sequence[str], variables: Sequence[str] = (), *, inventories: bool = True) -> list[str]:
    """Return the options that the next command after this argv needs to reach the same nodes.

    `variables` are the texts for -e that every verb takes; without `inventories`, -i is left out.
    """
    return [*carried_options(argv, inventories=inventories), *(word for text in variables for word in ("-e", text))]


def call_of(options: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return how to call the next ansible-playbook, with these options and variables of the environment."""
    assignments = (f"{name}={shlex.quote(value)} " for name, value in environment.items())
    return "".join(assignments) + shlex.join(["ansible-playbook", *options])


def call_with(options: Sequence[str], request: Mapping[str, Any]) -> str | None:
    """Return how ansible-playbook is called in this request, with the options of another command."""
    call: str | None = request.get("call")
    current = shlex.join(["ansible-playbook", *request.get("options", [])])
    if not call or not call.endswith(current):
        return call
    return call.removesuffix(current) + shlex.join(["ansible-playbook", *options])


def command(verb: str, run_id: str | None, call: str | None) -> str:
    """Return the command of a verb; `call` is what `call_of` returned."""
    words = [f"muster.train.{verb}", *(["-e", f"run_id={run_id}"] if run_id else [])]
    return clean(f"{call or 'ansible-playbook'} {shlex.join(words)}")


def hints(run_id: str, call: str | None, verbs: Iterable[str]) -> list[tuple[str, str]]:
    """Return (title, command) for each verb."""
    return [(TITLES[verb], command(verb, run_id, call)) for verb in verbs]
