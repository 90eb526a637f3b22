# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected, as a person reads it in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.finding import Finding
from .._text.table import node_names, table
from . import rows
from .detected import ClusterReport, DetectedNode
from .groups import Alike, groups

BAD = ("fail", "error", "warn")
DIFFERENCES_SHOWN = 12


def render(report: ClusterReport, width: int) -> list[str]:
    """Return the lines: nodes with the same table under one heading, then the summary of the cluster."""
    tables: dict[tuple[str, ...], list[str]] = {}
    for node in report.nodes:
        if node.answered:
            tables.setdefault(tuple(node_lines(node, width)), []).append(node.name)
    lines: list[str] = []
    for body, alike in tables.items():
        lines += [clean(f"{', '.join(alike)}{f' ({len(alike)} nodes alike)' if len(alike) > 1 else ''}"), *body, ""]
    return lines + cluster_lines(report, width)


def node_lines(node: DetectedNode, width: int) -> list[str]:
    """Return one node's table, without its name."""
    facts = [("GPUs", rows.gpu_summary(node.gpu))]
    if between := rows.link_summary(node.gpu):
        facts.append(("GPU links", between))
    facts.append(("HCAs", rows.hca_summary(node)))
    if node.rdma and node.rdma.hcas:
        facts.append(("GPUDirect", rows.gdr_summary(node.rdma.gdr)))
    facts.append(("library", rows.library_summary(node.library)))
    if node.interface:
        facts.append(("interface", f"{node.interface.name}: {node.interface.reason}"))
    lines = _pairs(facts, width)
    for headers, body in ((rows.GPU_HEADERS, rows.gpu_rows(node.gpu)), (rows.PORT_HEADERS, rows.port_rows(node))):
        if body:
            lines += ["", *indented(table(headers, body, width - 2))]
    lines += _section("would be set", rows.environment_lines(node.environment), width)
    if left := rows.not_set_lines(node):
        lines += ["", "  not set, on purpose", *indented(table(("", ""), left, width - 4)[1:], 4)]
    return lines + _findings(node.findings, width)


def cluster_lines(report: ClusterReport, width: int) -> list[str]:
    """Return the summary: groups of nodes and their differences, nodes without an answer, the cluster's problems."""
    answered = [node for node in report.nodes if node.answered]
    lines = [f"cluster: {count(len(report.nodes), 'node')}, {len(answered)} answered"]
    if report.fabric:
        lines += wrapped(f"  fabric {report.fabric.value}: {report.fabric.reason}", width)
    for group in groups(report.nodes):
        lines += wrapped(f"  {group_title(group)}", width)
        lines += [line for text in difference_lines(group) for line in wrapped(f"    {text}", width)]
    for node in report.nodes:
        if not node.answered:
            lines += wrapped(f"  {node.name}: no answer: {node.why}", width)
    return lines + _findings(report.findings, width)


def difference_lines(group: Alike) -> list[str]:
    """Return a line for each of the first differences, and how many more there are."""
    more = len(group.differences) - DIFFERENCES_SHOWN
    shown = [rows.difference_line(difference) for difference in group.differences[:DIFFERENCES_SHOWN]]
    return [*shown, f"and {more} more"] if more > 0 else shown


def group_title(group: Alike) -> str:
    """Return `8 nodes alike: …`, or the nodes that differ."""
    if group.differences:
        return f"{node_names(group.nodes)}: {'differs' if len(group.nodes) == 1 else 'differ'} in"
    return (
        f"{count(len(group.nodes), 'node')} alike: {node_names(group.nodes)}"
        if len(group.nodes) > 1
        else group.nodes[0]
    )


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _pairs(pairs: Iterable[tuple[str, str]], width: int) -> list[str]:
    return [line for title, text in pairs for line in wrapped(f"  {f'{title}:':<11} {text}", width, indent=" " * 14)]


def _section(title: str, entries: Iterable[tuple[str, str]], width: int) -> list[str]:
    lines: list[str] = []
    for head, remark in entries:
        lines.append(f"    {clean(head)}")
        lines += wrapped(f"      {remark}", width, indent=" " * 6)
    return ["", f"  {title}", *lines] if lines else []


def _findings(findings: Sequence[Finding], width: int) -> list[str]:
    """Return the problems, the worst first; a check that passed or did not apply is not shown."""
    order = {status: place for place, status in enumerate(BAD)}
    bad = sorted((item for item in findings if item.status in order), key=lambda item: order[item.status])
    if not bad:
        return []
    texts = [f"    {finding.status}: {rows.finding_line(finding)}" for finding in bad]
    return ["", "  problems", *(line for text in texts for line in wrapped(text, width, " " * 6))]


def indented(lines: Iterable[str], by: int = 2) -> list[str]:
    return [f"{' ' * by}{line}".rstrip() for line in lines]


def wrapped(text: str, width: int, indent: str = "      ") -> list[str]:
    """Return text, which may begin with spaces, in lines of `width`; a longer word, such as a value, is not broken."""
    line = clean(text)
    if len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
