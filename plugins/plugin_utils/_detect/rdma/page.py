# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on RDMA as a page: the verdict, the problems, how nodes differ, and one node of each kind."""

from __future__ import annotations

from typing import Any

from ..._checks.registry import BY_NAME
from ..._checks.report import TITLES
from ..._page.page import Header, Headline, count
from ..._page.page import render as render_page
from ..._page.problems import Nodes, problems
from ..._page.tables import PageTable
from ..._text.table import node_names
from ..groups import Alike
from ..page import differences_table
from .report import RdmaReport
from .section import INDIVIDUAL, Section


def render(report: RdmaReport) -> str:
    """Return the page."""
    descriptions = {name: check.description for name, check in BY_NAME.items()}
    content = {
        "problems": problems(report.findings, descriptions),
        "usual": Nodes.of(report.alike[0].nodes) if len(report.alike) > 1 else None,
        "differences": [differences_table(group, report.alike[0]) for group in report.alike[1:]],
        "kinds": [_kind(report, group) for group in report.alike],
    }
    return render_page("rdma.html.j2", _header(report), content)


def _header(report: RdmaReport) -> Header:
    nodes, answered = report.detected.nodes, len(report.sections)
    ports = [port for node in nodes for hca in (node.rdma.hcas if node.rdma else ()) for port in hca.ports]
    figures = [
        ("nodes that answered", f"{answered} of {len(nodes)}"),
        ("RDMA devices", str(sum(len(node.rdma.hcas) for node in nodes if node.rdma))),
        ("usable ports", f"{sum(port.usable for port in ports)} of {len(ports)}"),
    ]
    return Header(f"RDMA of {count(len(nodes), 'node')}", _verdict(report), figures)


def _verdict(report: RdmaReport) -> Headline:
    notes = []
    if silent := [node.name for node in report.detected.nodes if not node.answered]:
        notes.append(f"{node_names(silent)} did not answer.")
    if odd := [node for group in report.alike[1:] for node in group.nodes]:
        notes.append(f"{node_names(odd)} {'differs' if len(odd) == 1 else 'differ'} from the other nodes.")
    if fabric := report.detected.fabric:
        notes.append(f"Fabric {fabric.value}: {fabric.reason}.")
    bad = report.bad_checks()
    if not bad:
        return Headline("pass", "The checks of RDMA found nothing wrong", notes)
    texts = [f"{count(len(checks), 'check')} {TITLES[status]}" for status, checks in bad.items()]
    return Headline(next(iter(bad)), ", ".join(texts), notes)


def _kind(report: RdmaReport, group: Alike) -> dict[str, Any]:
    name = group.nodes[0]
    sections = [_section(report, section, group) for section in report.shown(name, group.nodes) if not section.absent]
    return {
        "title": name,
        "alike": Nodes.of(group.nodes[1:]) if len(group.nodes) > 1 else None,
        "individual": INDIVIDUAL,
        "sections": sections,
        "absent": [(titles, why) for why, titles in report.absent(name).items()],
    }


def _section(report: RdmaReport, section: Section, group: Alike) -> dict[str, Any]:
    table = PageTable.of(f"{section.title} of {group.nodes[0]}", section.headers, section.rows)
    return {
        "title": section.title,
        "table": table if table.headers else None,
        "pairs": [] if section.headers else section.rows,
        "style": "environment" if section.is_stacked else "pairs",
        "notes": section.notes,
        "checks": [
            (check, status, Nodes.of(nodes)) for check, (status, nodes) in report.worst(section, group.nodes).items()
        ],
    }
