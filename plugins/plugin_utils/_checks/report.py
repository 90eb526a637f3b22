# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What preflight found, as a person reads it and as data."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.finding import Finding
from .._text.table import names, one_line, table
from .check import Result, code_of
from .disagreements import Row, rows
from .model import Cluster, Level
from .registry import CHECKS, run

SCHEMA = 1
TITLES = {"fail": "failed", "error": "could not look", "warn": "warned", "pass": "passed", "skip": "do not apply"}
SHOWN = ("fail", "error", "warn")
WORST = (*SHOWN, "pass", "skip")
INDENT = 4
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")


@dataclasses.dataclass(frozen=True)
class Report:
    """All results, and the table of properties; code is the exit code: 0, 1 or 2."""

    cluster: Cluster
    results: list[Result]
    rows: list[Row]
    off: list[str]

    @property
    def code(self) -> int:
        return code_of(self.results)

    @property
    def findings(self) -> list[Finding]:
        return [each.finding for each in self.results]


def report_on(cluster: Cluster, levels: Mapping[str, Level]) -> Report:
    """Run all checks on a cluster."""
    results = run(cluster, levels)
    clock = [each.finding for each in results if each.finding.check == "clock"]
    off = [check.name for check in CHECKS if levels.get(check.name, check.level) == "off"]
    return Report(cluster, results, rows(cluster, clock), off)


def document(report: Report) -> dict[str, Any]:
    """Return everything as data."""
    cluster = report.cluster
    return {
        "schema": SCHEMA,
        "code": report.code,
        "nodes": {
            name: {
                "answered": name in cluster.nodes,
                "why": cluster.silent.get(name),
                "timings_ms": cluster.nodes[name].facts.timings if name in cluster.nodes else {},
            }
            for name in [*cluster.nodes, *cluster.silent]
        },
        "fabric": cluster.fabric,
        "off": report.off,
        "results": [{**each.finding.to_dict(), "level": each.level} for each in report.results],
        "properties": [row.to_dict() for row in report.rows],
    }


def summary(report: Report) -> str:
    """Say in one line how it went: of each check the worst that it found anywhere counts."""
    worst: dict[str, str] = {}
    for each in report.findings:
        known = worst.get(each.check, "skip")
        worst[each.check] = min(known, each.status, key=WORST.index)
    counts = Counter(worst.values())
    parts = [f"{counts[status]} {title}" for status, title in TITLES.items() if counts[status]]
    parts += [f"{len(report.off)} off"] if report.off else []
    total = len(report.cluster.nodes) + len(report.cluster.silent)
    return (
        f"preflight: {total} node{'' if total == 1 else 's'}, {len(report.cluster.nodes)} answered; {', '.join(parts)}"
    )


def render(report: Report, width: int) -> list[str]:
    """Return the lines for a terminal: what is not well, each with its remedy, then in what nodes differ."""
    lines = _wrapped(summary(report), width, 2)
    for status in SHOWN:
        told = _alike([each for each in report.findings if each.status == status])
        if told:
            lines += ["", f"{TITLES[status]}:"]
        for finding, seen in told.items():
            lines += _finding_lines(finding, seen, width)
    return lines + _table(report, width)


def _alike(findings: Sequence[Finding]) -> dict[Finding, dict[str, list[str]]]:
    """Group what is to be done alike: by what was seen, the nodes."""
    found: dict[Finding, dict[str, list[str]]] = {}
    for each in findings:
        seen = found.setdefault(dataclasses.replace(each, node=None, observed=""), {})
        nodes = seen.setdefault(each.observed, [])
        nodes += [each.node] if each.node else []
    return found


def _finding_lines(finding: Finding, seen: Mapping[str, Sequence[str]], width: int) -> list[str]:
    said = [f"{f'on {names(nodes)}' if nodes else 'the cluster'}: {observed}" for observed, nodes in seen.items()]
    if len(said) == 1:
        lines = _wrapped(f"  {finding.check} {said[0]}", width, INDENT)
    else:
        lines = [f"  {finding.check}", *(line for each in said for line in _wrapped(f"    {each}", width, INDENT + 2))]
    # No parentheses within parentheses.
    source = f"; from {finding.source}" if "(" in finding.source else f" ({finding.source})" if finding.source else ""
    if finding.expected:
        lines += _wrapped(f"    expected: {finding.expected}{source}", width, INDENT + 2)
    elif source:
        lines += _wrapped(f"    from: {finding.source}", width, INDENT + 2)
    if finding.remedy:
        lines += _wrapped(f"    remedy: {finding.remedy}", width, INDENT + 2)
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
        # What is long, as a kernel's command line, is cut in the middle column: the JSON has it whole.
        room = max(16, width // 3)
        body = [(name, one_line(_short(value), room), _short(rest)) for name, value, rest in body]
        lines += ["", *table(("property", "most nodes", "but"), body, width)]
    for number, (nodes, properties) in enumerate(same.items()):
        lines += [] if number else [""]
        lines += _wrapped(f"{names(nodes)} agree in {', '.join(properties)}", width, 2)
    return lines


def _short(text: str) -> str:
    """Shorten digests as `docker images` does."""
    return _DIGEST.sub(r"\1", text)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    line = clean(text)
    if len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def verdict(report: Report) -> str:
    """Say in one line which checks failed or could not look, and where."""
    parts = []
    for status, words in (("fail", "failed"), ("error", "could not look")):
        found: dict[str, list[str]] = {}
        for each in report.results:
            if each.finding.status == status and (status == "fail" or each.level == "fail"):
                found.setdefault(each.finding.check, []).append(each.finding.node or "the cluster")
        if found:
            told = [f"{check} on {names(list(dict.fromkeys(nodes)))}" for check, nodes in found.items()]
            parts.append(f"{words}: {'; '.join(told)}")
    return f"preflight: {'. '.join(parts)}" if parts else "preflight: all is well"


def stops(report: Report, on: Sequence[str]) -> bool:
    """Say whether the task fails: on a failed check, or on one that could not look."""
    return report.code == {"fail": 1, "error": 2}.get(on[0]) if len(on) == 1 else report.code != 0
