# SPDX-License-Identifier: GPL-3.0-or-later
"""What every node of a plan does, as text; nodes that do the same share a section."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._text.table import node_names

WIDEST = 40  # the remark of a longer value is not aligned


def node_sections(jobs: Sequence[Mapping[str, Any]], head: str, every: bool) -> list[list[str]]:
    """Return the lines of each node; nodes that differ by name and node rank only share theirs, unless every is set."""
    groups: list[_Group] = []
    for job in jobs:
        forms = [_forms(job, line) for line in _details(job)]
        if every or not any(group.take(job, forms) for group in groups):
            groups.append(_Group(job, forms))
    return [[_title(group.jobs, head), *group.lines] for group in groups]


class _Group:
    """Nodes whose lines are the same in some form: as they are, with {node}, or with {node} and {node_rank}."""

    def __init__(self, job: Mapping[str, Any], forms: list[tuple[str, ...]]) -> None:
        self.jobs = [job]
        self._forms = forms
        self._shared = [list(range(len(line))) for line in forms]

    def take(self, job: Mapping[str, Any], forms: Sequence[tuple[str, ...]]) -> bool:
        """Take a node in if each of its lines has a form that all others have, too."""
        if len(forms) != len(self._forms):
            return False
        shared = [
            [form for form in kept if line[form] == other[form]]
            for kept, line, other in zip(self._shared, self._forms, forms, strict=True)
        ]
        if all(shared):
            self.jobs.append(job)
            self._shared = shared
        return all(shared)

    @property
    def lines(self) -> list[str]:
        """The lines, each in the first form that all nodes share."""
        return [line[kept[0]] for line, kept in zip(self._forms, self._shared, strict=True)]


def _forms(job: Mapping[str, Any], line: str) -> tuple[str, ...]:
    by_name = _replace(line, job["node"], "{node}")
    return line, by_name, _replace(by_name, str(job["node_rank"]), "{node_rank}")


def _replace(line: str, word: str, placeholder: str) -> str:
    """Replace a word; the remark after it is not aligned any more, as names differ in length."""
    replaced = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", placeholder, line)
    return line if replaced == line else re.sub(" +  # ", "  # ", replaced)


def _title(jobs: Sequence[Mapping[str, Any]], head: str) -> str:
    several, first = len(jobs) > 1, jobs[0]
    named = node_names([job["node"] for job in jobs])
    if first["node_rank"] >= first["nnodes"]:
        title = f"spare{'s' * several}: {named}, {'take' if several else 'takes'} the ranks of a node that is lost"
    else:
        ranks = [rank for job in jobs for rank in range(job["first_rank"], job["first_rank"] + job["nproc"])]
        numbers = spans(job["node_rank"] for job in jobs)
        of_head = " (head)" if first["node"] == head and not several else ""
        title = f"node{'s' * several} {numbers}: {named}{of_head}, rank{'s' * (len(ranks) > 1)} {spans(ranks)}"
    return title


def _details(job: Mapping[str, Any]) -> list[str]:
    """Return everything of a node but its title."""
    rows = [
        ("work directory", job["workdir"], f"slot {job['slot']}"),
        ("run directory", job["run_dir"], ""),
        ("outputs", job["output_dir"], ""),
        ("code directory", job["code_dir"], ""),
        *([("ranks start in", job["cwd"], "launch_cwd")] if job["cwd"] != job["code_dir"] else []),
        ("starter", job["starter"], job["starter_reason"]),
        *_container(job["container"]),
        ("to stop", f"{job['stop_grace']} s", ""),
        *([("time limit", f"{job['time_limit']} s", "")] if job["time_limit"] else []),
    ]
    variables = [(f"{item['name']}={shlex.quote(item['value'])}", _remark(item)) for item in job["environment"]]
    width = min(WIDEST, max(len(assignment) for assignment, _why in variables))
    return [
        *aligned_rows(rows),
        "  command",
        *_command(job["argv"]),
        "  environment",
        *(f"    {assignment:<{width}}  # {remark}" for assignment, remark in variables),
    ]


def _container(container: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if container is None:
        return []
    source = ", with ".join([f"{container['service']} of {container['file']}", *container["mounts"]])
    return [("container", container["name"], source)]


def _command(argv: Sequence[str]) -> list[str]:
    """Break a command into lines: one per word, an option with its value on one line."""
    rows: list[str] = []
    before = ""
    for word in argv:
        if before.startswith("-") and "=" not in before and not word.startswith("-"):
            rows[-1] += f" {shlex.quote(word)}"
        else:
            rows.append(shlex.quote(word))
        before = word
    indents = ["    ", *["      "] * (len(rows) - 1)]
    ends = [*[" \\"] * (len(rows) - 1), ""]
    return [f"{indent}{row}{end}" for indent, row, end in zip(indents, rows, ends, strict=True)]


def aligned_rows(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Align names, values and remarks."""
    width = max(len(name) for name, _value, _why in rows)
    return [f"  {name:<{width}}  {value}{f'  # {remark}' if remark else ''}" for name, value, remark in rows]


def _remark(variable: Mapping[str, str]) -> str:
    origin = f"{variable['origin']} {variable['rule']}".strip()
    return f"{origin}: {variable['reason']}" if variable["reason"] else origin
