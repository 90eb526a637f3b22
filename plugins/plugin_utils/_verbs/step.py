# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a verb: what a node is asked, and what is concluded for all nodes.

A step knows a `Play` and nothing of what carries it: the action `step` executes it as a task of Ansible.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

from .._action.interrupt import Interrupt
from .._findings.errors import UserError
from .._request.settings import values


@frozen
class Play:
    """What a step may know of the play that it is a part of.

    read_values(host, names) returns those of the variables that are set for a host, and read_answer(host, name) what a
    task has registered for it, None if there is nothing. read_policy(names) returns the variables of the task's host,
    with the defaults of the task's role. None of them is a template.
    """

    request: Mapping[str, Any]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read_values: Callable[[str, Iterable[str]], dict[str, Any]] = lambda _host, _names: {}
    read_policy: Callable[[Iterable[str]], dict[str, Any]] = lambda _names: {}
    read_answer: Callable[[str, str], Any] = lambda _host, _name: None
    interrupt: Interrupt = field(default_factory=Interrupt)
    is_checked: bool = False  # check mode: nothing is changed
    width: int = 100  # columns of a table

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the request's parameters."""
        return values(self.request)


class Tone(Enum):
    """The color of a line, by Ansible's name."""

    PLAIN = None
    GOOD = "COLOR_OK"
    CHANGED = "COLOR_CHANGED"
    WARNING = "COLOR_WARN"
    ERROR = "COLOR_ERROR"


@frozen
class WantedFile:
    """A file as it should be. It is written as a whole where it differs, and not in check mode.

    option names what chose the path, and expected is what that may be, for the error of a file that cannot be written.
    is_same says whether an earlier text means the same, without it an equal one: then the file counts as unchanged,
    although its text is written. note is a line for people once it lies there; a file with a note has no diff.
    """

    path: Path
    text: str
    option: str
    expected: str = "a directory that you can write to"
    is_private: bool = False
    is_same: Callable[[str], bool] | None = None
    note: str | None = None
    has_diff: bool = True


@frozen
class Conclusion:
    """What a step concludes.

    lines are for people, each plain or with its tone; document is for a program that asks for one; output, another form
    of it, replaces the lines. warnings are Ansible's. result is what later steps read: plain data. The step fails with
    failure, which is_shown if the lines have it already.
    """

    lines: Sequence[str | tuple[str, Tone]] = ()
    document: Mapping[str, Any] | None = None
    output: str | None = None
    files: Sequence[WantedFile] = ()
    warnings: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    is_changed: bool = False
    failure: UserError | None = None
    is_shown: bool = False


@frozen
class Ask:
    """A step that runs a module on each host: options returns those of a host, None if it is not asked."""

    module: str
    options: Callable[[Play, str], Mapping[str, Any] | None]


@frozen
class Conclude:
    """A step that runs once, on the controller, when all hosts have answered; a decorator of what it concludes."""

    conclusion: Callable[[Play], Conclusion]


Step = Ask | Conclude


def ask(module: str) -> Callable[[Callable[[Play, str], Mapping[str, Any] | None]], Ask]:
    """Decorate the options of a step that runs a module of this collection."""
    return lambda options: Ask(module, options)


def find_step(name: str) -> Step:
    """Return a step by its name, such as `list.report`; raise LookupError if there is none."""
    verb, _dot, function = name.partition(".")
    step = getattr(importlib.import_module(f"{__package__}.{verb}"), function, None)
    if not isinstance(step, Step):
        raise LookupError(f"there is no step {name}")
    return step
