# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an acceptance, to be signed: the verdicts, what did not pass, what has changed, and the curves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from ..._findings.finding import Finding, Status
from ..._page.page import Header, Headline, count
from ..._page.page import render as render_page
from ..._page.problems import problems
from ..._page.tables import Cell, PageTable
from .. import charts
from ..benchmark.curve import SizeCurve, SizeFigure, draw_curves
from ..benchmark.text import curve_of
from ..charts import Figure
from . import text
from .acceptance import Acceptance
from .outcome import FAIL, PASS, UNKNOWN, StageOutcome
from .profile import PREFLIGHT, SCOPES

STATUSES: dict[str, Status] = {PASS: "pass", FAIL: "fail", UNKNOWN: "warn"}
PREFLIGHT_PAGE = "preflight.html"
SIGNERS = ("for the owner", "for the supplier")
MOST_ERRORS = 20  # of a stage; its own page has all of them


def render(acceptance: Acceptance, before: Acceptance | None, document: str) -> str:
    """Return the page; document is the text of `accept.json`, and before the acceptance that it is compared with."""
    conclusion, has_charts = text.conclusion(acceptance), charts.are_available()
    headline = f"{conclusion[:1].upper()}{conclusion[1:]}"
    open_stages = [stage for stage in acceptance.stages if stage.applies and stage.verdict != PASS]
    content = {
        "table": _stages(acceptance),
        "thresholds": _thresholds(acceptance),
        "pages": list(_pages(acceptance)),
        "problems": problems([finding for stage in open_stages for finding in _findings(stage)], text.TITLES),
        "since": f"{text.since(acceptance).capitalize()}.",
        "changes": PageTable.of(
            "Before and now", text.CHANGE_HEADERS, text.change_rows(acceptance.changes), wrapped=True
        ),
        "figures": list(_figures(acceptance, before)) if has_charts else [],
        "nodes": _nodes(acceptance),
        "digest": hashlib.sha256(document.encode()).hexdigest(),
        "signers": SIGNERS,
    }
    notes = [] if has_charts else [charts.MISSING]
    cluster = f" of {acceptance.cluster}" if acceptance.cluster else ""
    header = Header(
        f"Acceptance{cluster}, {acceptance.created[:10]}",
        Headline(STATUSES[acceptance.verdict], headline, notes),
        _header_figures(acceptance),
    )
    return render_page("accept.html.j2", header, content)


def _header_figures(acceptance: Acceptance) -> list[tuple[str, str]]:
    checked = as_dict((stage := acceptance.stage(PREFLIGHT)) and stage.measured)
    measured = [as_dict(known.measured) for known in acceptance.stages if known.name in SCOPES and known.measured]
    figures = [("nodes", str(len(checked["nodes"])))] if checked else []
    for properties in measured[-1:]:
        known = {"ranks per node": properties["nproc"], "backend": properties["backend"], "NCCL": properties["library"]}
        figures += [(name, str(value)) for name, value in known.items() if value]
    return figures


def _stages(acceptance: Acceptance) -> PageTable:
    rows = [
        [Cell(stage.name), Cell(stage.verdict, STATUSES[stage.verdict]), Cell(stage.reason)]
        for stage in acceptance.stages
    ]
    return PageTable("Each stage", ("stage", "verdict", "result"), rows, wrapped=True)


def _thresholds(acceptance: Acceptance) -> PageTable:
    """Return what is expected of each benchmark, and who says so."""
    rows = []
    for stage in acceptance.stages:
        if stage.name in SCOPES:
            known = stage.threshold
            rows.append(
                [stage.name, text.threshold_text(known), known.source] if known else [stage.name, "nothing", ""]
            )
    return PageTable.of("What is expected, and by which source", ("stage", "expected", "source"), rows, wrapped=True)


def _pages(acceptance: Acceptance) -> Iterator[tuple[str, str, str]]:
    """Yield the pages of the stages that have one, below the directory of this one."""
    for stage in acceptance.stages:
        if stage.measured is not None:
            page = "pairs.html" if stage.name not in SCOPES else "benchmark.html"
            target = PREFLIGHT_PAGE if stage.name == PREFLIGHT else f"{stage.run_id}/{page}"
            yield stage.name, text.TITLES[stage.name], target


def _findings(stage: StageOutcome) -> Iterator[Finding]:
    """Yield a stage that did not pass, and what its command reported."""
    status, threshold = STATUSES[stage.verdict], stage.threshold
    expected, source = (text.threshold_text(threshold), threshold.source) if threshold else ("", "")
    yield Finding(stage.name, None, status, stage.reason, expected, source, text.remedy(stage))
    for error in stage.errors[:MOST_ERRORS]:
        known = {key: str(error.get(key) or "") for key in ("check", "observed", "expected", "source", "remedy")}
        observed = known["observed"] or str(error.get("message") or "")
        if observed and observed not in stage.reason:
            what = f"{known['check']}: {observed}" if known["check"] else observed
            place = (known["expected"], known["source"], known["remedy"])
            yield Finding(stage.name, error.get("node"), status, what, *place)


def _figures(acceptance: Acceptance, before: Acceptance | None) -> Iterator[Figure]:
    """Yield the curve of each benchmark, with that of the acceptance before."""
    for stage in acceptance.stages:
        points = curve_of(as_dict(stage.measured))
        if not points:
            continue
        other = before.stage(stage.name) if before else None
        earlier = curve_of(as_dict(other and other.measured))
        curves = [SizeCurve(before.created[:10], earlier, is_earlier=True)] if before and earlier else []
        curves.append(SizeCurve("this acceptance", points))
        least = stage.threshold.busbw_gb_per_s if stage.threshold else None
        limit = as_dict(stage.measured).get("limit_gb_per_s")
        data = SizeFigure("busbw in GB/s", curves, limit, least=least)
        yield Figure(f"{stage.name}: {text.TITLES[stage.name]}", draw_curves(data))


def _nodes(acceptance: Acceptance) -> PageTable:
    """Return the properties of the nodes, so that the page says what was accepted."""
    checked = as_dict((stage := acceptance.stage(PREFLIGHT)) and stage.measured)
    rows = []
    for name, known in as_dict(checked.get("properties")).items():
        odd = ", ".join(f"{node}: {value}" for node, value in as_dict(known["odd"]).items())
        rows.append([name, str(known["majority"]), odd])
    caption = f"{count(len(checked.get('nodes', ())), 'node')}: {', '.join(checked.get('nodes', ()))}"
    return PageTable.of(caption, ("property", "most nodes", "but"), rows, wrapped=True)
