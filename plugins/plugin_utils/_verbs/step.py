# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a verb: what a host is asked or visited for, and what is concluded for all hosts.

A step knows a `Play` and nothing of what carries it: the action `step` executes it as a task of Ansible.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

from .._action.channel import Channel
from .._action.interrupt import Interrupt
from .._findings.errors import UserError
from .._request.command_line import CommandLine
from .._request.settings import values


class Unreachable(Exception):
    """A host does not answer; the message says what the connection reports."""


@frozen
class CommandOutput:
    """What a command printed on a host."""

    stdout: str
    stderr: str


@frozen
class Spawned:
    """A command that was started on the controller: whether it has ended, what it has printed, and its end at once."""

    has_ended: Callable[[], bool]
    read_output: Callable[[], str]
    kill: Callable[[], None] = lambda: None


def _no_host(*_words: Any) -> Any:
    raise Unreachable("the step has no host")


@frozen
class HostSession:
    """What a step may do on the host of its task, or on the one that the task is delegated to.

    run_module(module, options) returns its result, which is unreachable where the host does not answer; the others
    raise Unreachable. run_line(line) runs a line of shell, which needs no Python there. fetch_file(path, local) copies
    a file as the connecting user, and raises OSError if it cannot; becomes says whether everything else runs as another
    user. prepare_module(module) builds what a later step runs, which only saves time.
    """

    run_module: Callable[[str, Mapping[str, Any]], dict[str, Any]] = lambda _module, _options: {"unreachable": True}
    run_line: Callable[[str], CommandOutput] = _no_host
    fetch_file: Callable[[str, Path], None] = _no_host
    prepare_module: Callable[[str], None] = lambda _module: None
    becomes: bool = False


@frozen
class Play:
    """What a step may know of the play that it is a part of.

    request is empty in the step that makes it. read_values(host, names) returns those of the variables that are set for
    a host, and read_policy(names) those of the task's host, with its role's defaults. read_tagged does as read_values,
    but keeps Ansible's tags, which say what a vault encrypts, and read_raw(host) returns all variables of a host, with
    templates as they are. read_answer(host, name) returns what a task has registered for a host, None if there is
    nothing, or only of an earlier verb of this command; copy what you need of it with `plain`. run_command(argv,
    seconds) runs a command on the controller, in the C locale and without input; it returns the standard output, None
    if the command is not installed, and spawn_command(argv) starts one that outlives this command. run_slurm(argv) does
    so for a command of Slurm, and raises UserError where it fails. read_group(group, names) returns what those of the
    variables would be for a host of a group that may have none. cli_options are
    Ansible's, by its names for them. derive_key(subject) returns a secret of this command, the same one for every host,
    which is kept nowhere. channel is shared by the hosts of a step. clock returns seconds, of which only differences
    mean something, and pause waits.
    """

    request: Mapping[str, Any]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read_values: Callable[[str, Iterable[str]], dict[str, Any]] = lambda _host, _names: {}
    read_policy: Callable[[Iterable[str]], dict[str, Any]] = lambda _names: {}
    read_tagged: Callable[[str, Iterable[str]], dict[str, Any]] = lambda _host, _names: {}
    read_raw: Callable[[str], Mapping[str, Any]] = lambda _host: {}
    read_answer: Callable[[str, str], Any] = lambda _host, _name: None
    read_command_line: Callable[[], CommandLine] = CommandLine
    host: HostSession = HostSession()
    heads: Sequence[str] = ()  # of which one is the head of the run
    hosts: Sequence[str] = ()  # of this play
    interrupt: Interrupt | None = None
    channel: Channel = field(default_factory=Channel)
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    is_checked: bool = False  # check mode: nothing is changed
    shows_diff: bool = False  # --diff
    forks: int = 5  # how many hosts Ansible works on at a time
    width: int = 100  # columns of a table
    cli_options: Mapping[str, Any] = field(default_factory=dict)
    launch_defaults: Mapping[str, Any] = field(default_factory=dict)  # of the role `launch`
    run_command: Callable[[Sequence[str], float], str | None] = lambda _argv, _timeout_s: None
    run_slurm: Callable[[Sequence[str]], str] = lambda _argv: ""
    read_group: Callable[[str, Iterable[str]], dict[str, Any]] = lambda _group, _names: {}
    spawn_command: Callable[[Sequence[str]], Spawned] = lambda _argv: Spawned(lambda: True, lambda: "")
    derive_key: Callable[[str], str] = lambda _subject: ""

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
    is_same says whether an earlier text is as good, without it an equal one; a file that is_refreshed is written all
    the same, and counts as unchanged. note is a line for people once it lies there; a file with a note has no diff.
    former is a path under which an earlier version wrote it, which is removed.
    """

    path: Path
    text: str
    option: str
    expected: str = "a directory that you can write to"
    is_private: bool = False
    is_needed: bool = True  # else the step goes on without it
    is_same: Callable[[str], bool] | None = None
    is_refreshed: bool = False
    note: str | None = None
    has_diff: bool = True
    former: Path | None = None


@frozen
class Symlink:
    """A symbolic link; one that is not the newest is only made where none leads anywhere. Another file stays."""

    path: Path
    target: str
    is_newest: bool


@frozen
class Conclusion:
    """What a step concludes.

    lines are for people, each plain or with its tone, and closing_lines follow when the files are written. document is
    for a program that asks for one; output, another form of it, replaces the lines. links are made if one of the files
    was written. warnings are Ansible's. result is what later steps read: plain data. The step fails with failure, which
    is_shown if the lines have it already.
    """

    lines: Sequence[str | tuple[str, Tone]] = ()
    document: Mapping[str, Any] | None = None
    output: str | None = None
    files: Sequence[WantedFile] = ()
    links: Sequence[Symlink] = ()
    closing_lines: Sequence[str] = ()
    warnings: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    is_changed: bool = False
    failure: UserError | None = None
    is_shown: bool = False


@frozen
class Ask:
    """A step that runs a module on each host: options returns those of a host, None if it is not asked.

    limit_s returns how many seconds a host has to answer; without it, as many as it takes. is_needed says of a host
    whether the step fails where the module does; without it, it does.
    """

    module: str
    options: Callable[[Play, str], Mapping[str, Any] | None]
    limit_s: Callable[[Play], int] | None = None
    is_needed: Callable[[Play, str], bool] | None = None


@frozen
class Visit:
    """A step that takes several calls of `play.host` to each host; a decorator of the function that makes them.

    It returns the result of the host's task, None if the host is not visited.
    """

    work: Callable[[Play, str], Mapping[str, Any] | None]


@frozen
class Conclude:
    """A step that runs once, for all hosts; a decorator of the function that concludes.

    It reads the answers of all hosts, and contacts at most one, that to which its task is delegated, by `play.host`.
    """

    conclusion: Callable[[Play], Conclusion]
    makes_request: bool = False  # all other steps need one


Step = Ask | Visit | Conclude


def ask(
    module: str,
    limit_s: Callable[[Play], int] | None = None,
    is_needed: Callable[[Play, str], bool] | None = None,
) -> Callable[[Callable[[Play, str], Mapping[str, Any] | None]], Ask]:
    """Decorate the options of a step that runs a module of this collection."""
    return lambda options: Ask(module, options, limit_s, is_needed)


def find_step(name: str) -> Step:
    """Return a step by its name, such as `list.report`; raise LookupError if there is none."""
    verb, _dot, function = name.partition(".")
    step = None
    with contextlib.suppress(ModuleNotFoundError):
        step = getattr(importlib.import_module(f"{__package__}.{verb}"), function, None)
    if not isinstance(step, Step):
        raise LookupError(f"there is no step {name}")
    return step
