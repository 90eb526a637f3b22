# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's environment as files, for users who launch by other means.

Each file has its reader's grammar, and a value that the grammar cannot hold is refused, never changed. A file contains
no time: the same facts and policy give the same bytes.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean, is_text

from .._nccl.library import Library
from .._nccl.view import version_text
from .detected import DetectedNode
from .rows import not_set_lines, remark

COMMENT_WIDTH = 110
REASONS_SHOWN = 3
# NCCL src/misc/param.cc setEnvFile: char envValue[1024]; the rest is cut off silently.
CONF_VALUE_MAX = 1023
# param.cc skips lines with # since 2.26; before that, `# x=1` defines a variable named `# x`.
CONF_COMMENTS = (2, 26)
# Only the library's variables: it reads its file when it is initialized, too late for any other variable.
CONF_NAMES = ("NCCL_", "RCCL_")
# Characters that docker's --env-file, compose's env_file or systemd's EnvironmentFile do not take literally.
_NOT_LITERAL = re.compile(r"""['"`$\\]|\s#|^#|^\s|\s$""")


def compose(report: DetectedNode) -> str:
    """Write KEY=value without quotes, as docker --env-file, compose env_file and podman read it."""

    def assignment(variable: Variable) -> str:
        if _NOT_LITERAL.search(variable.value) or not is_text(variable.value):
            raise ValueError(
                f"{variable.name}={clean(variable.value)}: an environment file for compose has no quotes, so it cannot "
                "hold quotes, $, \\, a comment's #, control characters or spaces at the ends"
            )
        return f"{variable.name}={variable.value}"

    return _file(report, report.environment, assignment, comments=True)


def shell(report: DetectedNode) -> str:
    """Write export KEY='value', as every POSIX shell reads it."""

    def assignment(variable: Variable) -> str:
        quoted = variable.value.replace("'", "'\\''")
        return f"export {variable.name}='{quoted}'"

    return _file(report, report.environment, assignment, comments=True)


def conf(report: DetectedNode) -> str:
    """Write NAME=value as in the library's configuration file, without trimming or quoting."""

    def assignment(variable: Variable) -> str:
        if not is_text(variable.value):
            raise ValueError(
                f"{variable.name}={clean(variable.value)}: a line of the file cannot hold control characters"
            )
        size = len(variable.value.encode())
        if size > CONF_VALUE_MAX:
            raise ValueError(f"{variable.name} has {size} bytes; the library reads at most {CONF_VALUE_MAX} of a value")
        return f"{variable.name}={variable.value}"

    variables = [variable for variable in report.environment if variable.name.startswith(CONF_NAMES)]
    return _file(report, variables, assignment, comments=conf_comments(report.library))


def conf_comments(library: Library | None) -> bool:
    """Whether the library skips comments in its file; a library of unknown version may not."""
    return library is not None and library.version is not None and library.version[:2] >= CONF_COMMENTS


def conf_name(library: Library | None) -> str:
    """Return the name of the library's configuration file: RCCL does not read nccl.conf, nor NCCL rccl.conf."""
    return f"{library.name if library else 'nccl'}.conf"


WRITERS: dict[str, Callable[[DetectedNode], str]] = {"compose": compose, "shell": shell, "conf": conf}


def with_shared_reasons(reports: Sequence[DetectedNode]) -> list[DetectedNode]:
    """Give nodes with the same variables the same reasons, those of all of them.

    Nodes may share the directory, where each would otherwise rewrite the file of the one before.
    """
    alike: dict[object, list[DetectedNode]] = {}
    for report in reports:
        values = tuple((variable.name, variable.value) for variable in report.environment)
        left = tuple(variable.name for variable in report.not_set)
        library = (report.library.name, report.library.version) if report.library else None
        alike.setdefault((report.answered, library, values, left), []).append(report)
    shared = {}
    for same in alike.values():
        first = same[0]
        environment = [
            dataclasses.replace(variable, reason=_all(report.environment[place].reason for report in same))
            for place, variable in enumerate(first.environment)
        ]
        not_set = [
            dataclasses.replace(variable, reason=_all(report.not_set[place].reason for report in same))
            for place, variable in enumerate(first.not_set)
        ]
        # The origins are the first node's, too: a value may be set for one node and come from the cluster on another.
        for report in same:
            shared[report.name] = dataclasses.replace(report, environment=environment, not_set=not_set)
    return [shared[report.name] for report in reports]


def _all(reasons: Iterable[str]) -> str:
    """Join the reasons of several nodes, the first of many."""
    distinct = list(dict.fromkeys(filter(None, reasons)))
    more = [f"{len(distinct) - REASONS_SHOWN} other reasons"] if len(distinct) > REASONS_SHOWN else []
    return "; or on other nodes: ".join([*distinct[:REASONS_SHOWN], *more])


def _file(
    report: DetectedNode, variables: Sequence[Variable], assignment: Callable[[Variable], str], comments: bool
) -> str:
    """Return the file's text; raise ValueError for the first variable that the grammar cannot hold."""
    if not comments:
        return "".join(f"{assignment(variable)}\n" for variable in variables)
    library = version_text(report.library) if report.library else "NCCL"
    lines = _comment(
        f"Environment of {library}. Written by the role muster.train.nccl_env: "
        "change the inventory and run it again; changes in this file are lost."
    )
    for variable in variables:
        lines += ["", *_comment(remark(variable)), assignment(variable)]
    if report.not_set:
        lines += ["", *_comment("Not set, on purpose:")]
        for name, why in not_set_lines(report):
            lines += _comment(f"{name}: {why}", "#   ")
    return "\n".join(lines) + "\n"


def _comment(text: str, more: str = "# ") -> list[str]:
    """Return text as comment lines; a line break in a reason must not end the comment."""
    return textwrap.wrap(
        clean(text),
        COMMENT_WIDTH,
        initial_indent="# ",
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )
