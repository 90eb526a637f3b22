# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of preflight, for people and as data."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.finding import Finding
from .._text.table import node_names, one_line, table
from .comparison import Row
from .model import Cluster
from .properties import OTHERS, PROPERTIES
from .registry import CHECKS, Result, exit_code, level_of, run

SCHEMA = 1
TITLES = {"fail": "failed", "error": "could not be checked", "warn": "warned", "pass": "passed", "skip": "do not apply"}
SHOWN = ("fail", "error", "warn")
WORST = (*SHOWN, "pass", "skip")
INDENT = 4
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")


@frozen
class Report:
    """All results, and the table of properties; code is the exit code: 0, 1 or 2."""

    cluster: Cluster
    results: list[Result]
    rows: list[Row]
    off: list[str]

    @property
    def code(self) -> int:
        return exit_code(self.results)

    @property
    def findings(self) -> list[Finding]:
        return [result.finding for result in self.results]


def report_on(cluster: Cluster) -> Report:
    """Run all checks on a cluster."""
    results = run(cluster)
    off = [check.name for check in CHECKS if level_of(check, cluster.checks) == "off"]
    return Report(cluster, results, _rows(cluster, results), off)


def _rows(cluster: Cluster, results: Sequence[Result]) -> list[Row]:
    """Return a row for each property that any node has."""
    columns = {prop.name: prop.values(cluster) for prop in (*PROPERTIES, *OTHERS)}
    clocks = [result.finding for result in results if result.finding.check == "clock"]
    texts = {"pass": "right", "error": None}
    columns["clock"] = {clock.node: texts.get(clock.status, clock.observed) for clock in clocks if clock.node}
    return [row for name, values in columns.items() if (row := Row.of(name, values))]


def document(report: Report) -> dict[str, Any]:
    """Return everything as data."""
    cluster = report.cluster
    return {
        "schema": SCHEMA,
        "code": report.code,
        "nodes": {
            name: {
                "answered": name in cluster.nodes,
                "why": cluster.silent[name].why if name in cluster.silent else None,
                "timings_ms": cluster.nodes[name].facts.timings if name in cluster.nodes else {},
            }
            for name in [*cluster.nodes, *cluster.silent]
        },
        "fabric": cluster.fabric,
        "off": report.off,
        "results": [{**result.finding.to_dict(), "level": result.level} for result in report.results],
        "properties": [row.to_dict() for row in report.rows],
    }


def summary(report: Report) -> str:
    """Return the counts of checks in one line: for each check its worst status on any node counts."""
    worst: dict[str, str] = {}
    for finding in report.findings:
        worst[finding.check] = min(worst.get(finding.check, "skip"), finding.status, key=WORST.index)
    counts = Counter(worst.values())
    parts = [f"{counts[status]} {title}" for status, title in TITLES.items() if counts[status]]
    parts += [f"{len(report.off)} off"] if report.off else []
    total = len(report.cluster.nodes) + len(report.cluster.silent)
    return (
        f"preflight: {total} node{'' if total == 1 else 's'}, {len(report.cluster.nodes)} answered; {', '.join(parts)}"
    )


def render(report: Report, width: int) -> list[str]:
    """Return the lines for a terminal: the problems with their remedies, then the table of differences."""
    lines = _wrapped(summary(report), width, 2)
    return [*lines, *problem_lines(report.findings, width), *_table(report, width)]


def problem_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Return what did not pass, the worst first, each with its remedy."""
    lines: list[str] = []
    for status in SHOWN:
        groups = _grouped([finding for finding in findings if finding.status == status])
        if groups:
            lines += ["", f"{TITLES[status]}:"]
        for finding, observations in groups.items():
            lines += _finding_lines(finding, observations, width)
    return lines


def _grouped(findings: Sequence[Finding]) -> dict[Finding, dict[str, list[str]]]:
    """Group findings with the same remedy: for each, the nodes by what was observed."""
    groups: dict[Finding, dict[str, list[str]]] = {}
    for finding in findings:
        observations = groups.setdefault(dataclasses.replace(finding, node=None, observed=""), {})
        observations.setdefault(finding.observed, []).extend([finding.node] if finding.node else [])
    return groups


def _finding_lines(finding: Finding, observations: Mapping[str, Sequence[str]], width: int) -> list[str]:
    texts = [f"{f'on {node_names(nodes)}' if nodes else 'the cluster'}: {text}" for text, nodes in observations.items()]
    if len(texts) == 1:
        lines = _wrapped(f"  {finding.check} {texts[0]}", width, INDENT)
    else:
        lines = [f"  {finding.check}", *(line for text in texts for line in _wrapped(f"    {text}", width, INDENT + 2))]
    # No parentheses within parentheses.
    source = f"; from {finding.source}" if "(" in finding.source else f" ({finding.source})" if finding.source else ""
    if finding.expected:
        lines += _wrapped(f"    expected: {finding.expected}{source}", width, INDENT + 2)
    elif source:
        lines += _wrapped(f"    from: {finding.source}", width, INDENT + 2)
    if finding.remedy:
        nodes = [node for group in observations.values() for node in group]
        lines += _wrapped(f"    remedy: {finding.remedy_on(nodes)}", width, INDENT + 2)
    return lines


def _table(report: Report, width: int) -> list[str]:
    if len(report.cluster.nodes) < 2:
        return []
    odd = [row for row in report.rows if row.odd]
    # Not all nodes have every property: an engine that does not answer has no version.
    same: dict[tuple[str, ...], list[str]] = {}
    for row in report.rows:
        if not row.odd and len(row.nodes) > 1:
            same.setdefault(row.nodes, []).append(row.name)
    lines = []
    if odd:
        body = [(row.name, row.value, ", ".join(f"{node}: {value}" for node, value in row.odd.items())) for row in odd]
        # Long values, such as a kernel's command line, are cut in the middle column; the JSON has all of them.
        room = max(16, width // 3)
        body = [(name, one_line(_short(value), room), _short(rest)) for name, value, rest in body]
        lines += ["", *table(("property", "most nodes", "but"), body, width)]
    for number, (nodes, properties) in enumerate(same.items()):
        lines += [] if number else [""]
        lines += _wrapped(f"{node_names(nodes)} agree in {', '.join(properties)}", width, 2)
    return lines


def _short(text: str) -> str:
    """Shorten digests as `docker images` does."""
    return _DIGEST.sub(r"\1", text)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    line = clean(text)
    if len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def problems(report: Report) -> list[Finding]:
    """Return the findings that decide the exit code: checks that failed, then those that could not run."""
    failed = [result.finding for result in report.results if result.finding.status == "fail"]
    unmade = (
        result.finding for result in report.results if result.finding.status == "error" and result.level == "fail"
    )
    return [*failed, *unmade]


def verdict(report: Report) -> str:
    """Return one line with the checks that failed or could not run, and their nodes."""
    parts = []
    for status in ("fail", "error"):
        nodes: dict[str, list[str]] = {}
        for finding in problems(report):
            if finding.status == status:
                nodes.setdefault(finding.check, []).append(finding.node or "the cluster")
        if nodes:
            texts = [f"{check} on {node_names(list(dict.fromkeys(group)))}" for check, group in nodes.items()]
            parts.append(f"{TITLES[status]}: {'; '.join(texts)}")
    return f"preflight: {'. '.join(parts)}" if parts else "preflight: no problem found"


def stops(report: Report, on: Sequence[str]) -> bool:
    """Whether the task fails: on a failed check, or on one that could not run."""
    return report.code == {"fail": 1, "error": 2}.get(on[0]) if len(on) == 1 else report.code != 0
