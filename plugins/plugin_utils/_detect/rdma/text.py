# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on RDMA, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from ..._checks.report import TITLES, problem_lines
from ..._text.table import node_names, table
from ..groups import Alike
from ..text import count, difference_lines, group_title, indented, wrapped
from .report import RdmaReport
from .section import INDIVIDUAL, Section

ANOTHER = "-e node=NAME shows the whole report on another node"
STATUSES = {**TITLES, "skip": "does not apply"}


def render(report: RdmaReport, node: str | None, width: int) -> list[str]:
    """Return the lines: the problems, the whole report on one node, and in what the others differ from most nodes.

    The node is by default the first of the largest group.
    """
    result = [_summary(report), *problem_lines(report.findings, width)]
    for group in report.alike[:1] if node is None else [group for group in report.alike if node in group.nodes]:
        result += ["", *_node(report, node or group.nodes[0], group, [node] if node else group.nodes, width)]
    for group in report.alike[1:]:
        result += ["", *wrapped(group_title(group), width)]
        result += [line for text in difference_lines(group) for line in wrapped(f"  {text}", width)]
    return [*result, "", ANOTHER] if len(report.sections) > 1 else result


def _summary(report: RdmaReport) -> str:
    nodes = report.detected.nodes
    texts = [f"{count(len(nodes), 'node')}, {len(report.sections)} answered"]
    texts += [f"{len(checks)} {TITLES[status]}" for status, checks in report.bad_checks().items()]
    return f"rdma: {'; '.join(texts)}"


def _node(report: RdmaReport, name: str, group: Alike, counted: Sequence[str], width: int) -> list[str]:
    """Return the whole report on a node, for all that are like it, with the counters of some of them."""
    others = [node for node in group.nodes if node != name]
    same = f"; {node_names(others)} {'is' if len(others) == 1 else 'are'} alike but for {INDIVIDUAL}" if others else ""
    lines = wrapped(f"{name}{same}", width)
    for section in report.shown(name, counted):
        if not section.absent:
            judged = _checks(report, section, group, width)
            lines += ["", f"  {clean(section.title)}", *_section(section, width), *judged]
    absent = [wrapped(f"  {titles}: {why}", width) for why, titles in report.absent(name).items()]
    return [*lines, *([""] if absent else []), *(line for part in absent for line in part)]


def _section(section: Section, width: int) -> list[str]:
    notes = [line for note in section.notes for line in wrapped(f"    {note}", width)]
    if section.is_stacked:
        rows = [
            line for name, text in section.rows for line in (f"    {clean(name)}", *wrapped(f"      {text}", width))
        ]
    elif section.headers:
        rows = indented(table(section.headers, section.rows, width - 4), 4)
    else:
        rows = indented(table(("", ""), section.rows, width - 4)[1:], 4)
    return [*rows, *notes]


def _checks(report: RdmaReport, section: Section, group: Alike, width: int) -> list[str]:
    """Return one line for the checks of a section: what they found on the nodes of the group, the worst of each."""
    texts = [
        f"{check} {STATUSES[status]}{f' on {node_names(nodes)}' if len(nodes) < len(group.nodes) else ''}"
        for check, (status, nodes) in report.worst(section, group.nodes).items()
    ]
    return wrapped(f"    checks: {', '.join(texts)}", width) if texts else []
