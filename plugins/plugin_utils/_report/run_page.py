# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a run: how it ended and why, its curves and its ranks, and what it was launched with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import ACTIVE

from .._findings.finding import Status
from .._page.page import Header, Headline, render
from .._page.problems import problems
from .._page.tables import Cell, PageTable
from .._results import hangs
from .._results.events import disk_text
from .._results.rows import duration, number, number_text
from . import charts, run_parts
from .charts import Figure
from .curves import CurveChart, draw_curve, draw_ranks
from .environment import environment_table, not_set_table
from .remarks import remark_text
from .run_text import (
    ReportedRun,
    losses_text,
    median_rate,
    median_step_time,
    rate_name,
    straggler_texts,
    summary,
    time_text,
    time_to_first_step,
)
from .series import STRAGGLER_SCORE, RankSummary, TrainingMetrics
from .telemetry.page import telemetry_content
from .traces.page import traces_content

NO_METRICS = (
    "There are no curves, because no rank wrote metrics: a program that appends lines to rank_NN_metrics.jsonl in "
    "MUSTER_OUTPUT_DIR gets them."
)
# Stragglers whose step times are drawn, and rows of the table of ranks: one with more rows is closed at first.
MOST_DRAWN, MOST_ROWS, MOST_OPEN = 4, 128, 16
RULE = (
    f"A rank is a straggler if the fastest rank's median step time is less than {STRAGGLER_SCORE:.0%} of its own, the "
    "default of NVIDIA's Resiliency Extension for relative scores. Ranks that wait for one another in each step take "
    "equally long: a rank that slows all of them down shows only if the program measures its steps before it waits."
)


def render_run(run: ReportedRun) -> str:
    """Return the page of a run."""
    record, metrics = run.record, run.metrics
    drawn = charts.are_available()
    chosen, defaults = run_parts.parameter_tables(record)
    content = {
        "failures": run_parts.last_words(record, run.runs),
        "hang": hangs.data(run.runs),
        "attempts": run_parts.attempts_table(record),
        "problems": problems(run_parts.findings_of(run.plan)),
        "figures": list(_figures(metrics)) if metrics.ranks and drawn else [],
        "remarks": [remark_text(remark) for remark in metrics.remarks],
        "stragglers": straggler_texts(metrics),
        "ranks": _ranks_table(metrics.ranks),
        "folded": len(metrics.ranks) > MOST_OPEN,
        "rule": RULE if any(rank.score for rank in metrics.ranks) else None,
        "telemetry": telemetry_content(run.telemetry, drawn),
        "traces": traces_content(run.traces),
        "facts": run_parts.facts(record),
        "parameters": chosen,
        "environment": environment_table(run.plan),
        "more": [table for table in (defaults, not_set_table(run.plan)) if table],
    }
    header = Header(run.run_id, Headline(_status(record), summary(run), _notes(run)), _header_figures(run))
    return render("run.html.j2", header, content)


def _status(record: Mapping[str, Any]) -> Status:
    verdict = record.get("verdict")
    return "pass" if verdict == "succeeded" else "warn" if verdict in (*ACTIVE, "stopped", "waiting") else "fail"


def _notes(run: ReportedRun) -> list[str]:
    record, notes = run.record, []
    if record.get("why"):
        notes.append(str(record["why"]))
    notes += [f"{item.get('node')}: {item.get('why')}" for item in run_parts.dicts(record.get("silent"))]
    if disk := disk_text(run.runs):
        notes.append(disk)
    if not run.metrics.ranks:
        notes.append(NO_METRICS)
    elif not charts.are_available():
        notes.append(charts.MISSING)
    return notes


def _header_figures(run: ReportedRun) -> list[tuple[str, str]]:
    record, metrics = run.record, run.metrics
    progress = as_dict(record.get("progress"))
    step, total = number(progress.get("step")), number(progress.get("total_steps"))
    figures = [
        ("loss", losses_text(record)),
        ("step", "" if step is None else f"{step:,.0f}" if total is None else f"{step:,.0f} of {total:,.0f}"),
        ("median step time", median_step_time(metrics)),
        ("stragglers", str(len(metrics.stragglers)) if any(rank.score for rank in metrics.ranks) else ""),
        (f"median {rate_name(metrics.rate)}", median_rate(metrics)),
        ("start to first step", time_to_first_step(record)),
        ("time", duration(record.get("elapsed_s"))),
    ]
    return [(name, text) for name, text in figures if text]


def _figures(metrics: TrainingMetrics) -> Iterator[Figure]:
    of_ranks = "the median of the ranks, in a band from the least to the greatest"
    if loss := metrics.curve("loss"):
        chart = CurveChart("loss", loss)
        yield Figure(f"loss: {of_ranks}{_cut(chart)}", draw_curve(chart))
    if times := metrics.curve("step_s"):
        others = {f"rank {rank}": curve for rank, curve in metrics.of_stragglers.items() if curve.steps}
        chart = CurveChart("step time in ms", times, 1000.0, others)
        more = f"; {', '.join(others)} by {'itself' if len(others) == 1 else 'themselves'}" if others else ""
        yield Figure(f"step time: {of_ranks}{more}{_cut(chart)}", draw_curve(chart))
    if any(rank.step_s is not None for rank in metrics.ranks) and len(metrics.ranks) > 1:
        caption = "step time of each rank: the median, and a line up to the 95th percentile; above the dashed line is a"
        yield Figure(f"{caption} straggler", draw_ranks("step time in ms", metrics.ranks))
    if metrics.rate and (rates := metrics.curve(metrics.rate)):
        name = rate_name(metrics.rate)
        chart = CurveChart(name, rates)
        yield Figure(f"{name} of all ranks together, as they report it: {of_ranks}{_cut(chart)}", draw_curve(chart))


def _cut(chart: CurveChart) -> str:
    if chart.ceiling is None:
        return ""
    peak = max(zip(chart.curve.highs, chart.curve.steps, strict=True))
    return f"; peaks are cut, the highest is {number_text(peak[0] * chart.factor)} up to step {number_text(peak[1])}"


def _ranks_table(ranks: Sequence[RankSummary]) -> PageTable | None:
    """Return the table of the ranks; of very many ranks only the slowest ones."""
    headers = ["rank", "node", "lines", "last step", "loss", "median step time", "95th percentile", "score", ""]
    shown = sorted(ranks, key=lambda rank: rank.score or 1.0)[:MOST_ROWS] if len(ranks) > MOST_ROWS else ranks
    rows = [
        [
            str(rank.rank),
            rank.node or "",
            f"{rank.lines:,}",
            "" if rank.last_step is None else f"{rank.last_step:,.0f}",
            "" if rank.last_loss is None else f"{rank.first_loss:.3g} -> {rank.last_loss:.3g}",
            time_text(rank.step_s),
            time_text(rank.step_s_p95),
            "" if rank.score is None else f"{rank.score:.0%}",
            "straggler" if rank.is_straggler else "",
        ]
        for rank in sorted(shown, key=lambda rank: rank.rank)
    ]
    if not rows:
        return None
    of_all = "Ranks" if len(ranks) <= MOST_OPEN else f"All {len(ranks)} ranks"
    title = of_all if shown is ranks else f"The {len(shown)} slowest of {len(ranks)} ranks"
    table = PageTable.of(title, headers, rows)
    marked = [
        [Cell(cell.text, "warn" if cell.text == "straggler" else cell.style) for cell in row] for row in table.rows
    ]
    return PageTable(table.caption, table.headers, marked)
