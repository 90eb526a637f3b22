# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of preflight as a page: the verdict, the problems, the nodes, their differences, all checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from .._findings.finding import BAD, Finding, Status
from .._page.page import Header, Headline, count
from .._page.page import render as render_page
from .._page.problems import Nodes, problems
from .._page.tables import PageTable
from .._text.table import names
from .registry import CHECKS
from .report import TITLES, WORST, Report

DESCRIPTIONS = {check.name: check.description for check in CHECKS}


def render(report: Report) -> str:
    """Return the page."""
    worst = _worst_of(report.findings)
    content = {
        "problems": problems(report.findings, DESCRIPTIONS),
        "nodes": _nodes(report),
        "differences": _differences(report),
        "agreement": _agreement(report),
        "checks": _checks(report.findings),
        "off": ", ".join(report.off),
    }
    total = len(report.cluster.nodes) + len(report.cluster.silent)
    counts: Counter[str] = Counter(worst.values())
    figures = [("nodes that answered", f"{len(report.cluster.nodes)} of {total}")]
    figures += [(title, str(counts[status])) for status, title in TITLES.items() if counts[status]]
    figures += [("off", str(len(report.off)))] if report.off else []
    header = Header(f"Preflight of {count(total, 'node')}", _verdict(report, counts), figures)
    return render_page("checks.html.j2", header, content)


def _worst_of(findings: Iterable[Finding]) -> dict[str, Status]:
    """Return for each check its worst status on any node."""
    worst: dict[str, Status] = {}
    for finding in findings:
        worst[finding.check] = min(worst.get(finding.check, "skip"), finding.status, key=WORST.index)
    return worst


def _verdict(report: Report, counts: Mapping[str, int]) -> Headline:
    notes = []
    bad = list(dict.fromkeys(item.node for item in report.findings if item.node and item.status in ("fail", "error")))
    if bad:
        notes.append(f"Something failed or could not be checked on {names(bad)}.")
    if report.code == 1:
        return Headline("fail", f"Not ready for a launch: {count(counts['fail'], 'check')} failed", notes)
    if report.code == 2:
        return Headline("error", f"Not known to be ready: {count(counts['error'], 'check')} could not run", notes)
    if counts["warn"] or counts["error"]:
        reserve = count(counts["warn"] + counts["error"], "check")
        return Headline("warn", f"Ready for a launch, but look at {reserve}", notes)
    return Headline("pass", "Ready for a launch", ["No problem was found."])


def _nodes(report: Report) -> PageTable:
    """Return a row for each group of nodes with the same problems, the worst first."""
    by_node: dict[str, dict[Status, dict[str, None]]] = {}
    for name in [*report.cluster.nodes, *report.cluster.silent]:
        by_node[name] = {status: {} for status in BAD}
    for finding in report.findings:
        if finding.node in by_node and finding.status in BAD:
            by_node[finding.node][finding.status][finding.check] = None
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, checks in by_node.items():
        alike.setdefault(tuple(", ".join(checks[status]) for status in BAD), []).append(name)
    shown = [place for place in range(len(BAD)) if any(texts[place] for texts in alike)]
    order = sorted(alike.items(), key=lambda item: [not text for text in item[0]])
    body = [
        (names(group, len(group)), str(len(group)), *(texts[place] or "none" for place in shown))
        for texts, group in order
    ]
    headers = ("nodes", "number", *(TITLES[BAD[place]] for place in shown))
    return PageTable.of("Nodes with the same problems", headers, body, wrapped=True)


def _differences(report: Report) -> PageTable | None:
    body = []
    for row in report.rows:
        values: dict[str, list[str]] = {}
        for node, value in row.odd.items():
            values.setdefault(value, []).append(node)
        body += [(row.name, row.value, names(nodes, len(nodes)), value) for value, nodes in values.items()]
    headers = ("property", "most nodes", "but", "have")
    return PageTable.of("Properties that differ", headers, body, wrapped=True) if body else None


def _agreement(report: Report) -> PageTable | None:
    body = [
        (row.name, row.value, Nodes.of(row.nodes).text) for row in report.rows if not row.odd and len(row.nodes) > 1
    ]
    return PageTable.of("Properties that agree", ("property", "value", "on"), body, wrapped=True) if body else None


def _checks(findings: Iterable[Finding]) -> PageTable:
    """Return a row for each check and result; nodes with the same result are one row."""
    nodes: dict[tuple[str, Status, str], list[str]] = {}
    for finding in findings:
        key = finding.check, finding.status, finding.observed
        nodes.setdefault(key, []).append(finding.node or "the cluster")
    body = [(check, status, names(group, len(group)), text) for (check, status, text), group in nodes.items()]
    return PageTable.of("Results of every check", ("check", "result", "on", "observed"), body, wrapped=True)
