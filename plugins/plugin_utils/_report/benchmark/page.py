# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a benchmark: the curve against the limit and earlier runs, the limit's derivation, and all sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._findings.finding import Status
from ..._page.page import Header, Headline
from ..._page.page import render as render_page
from ..._page.tables import PageTable
from .. import charts
from ..charts import Figure
from . import text
from .curve import SizeCurve, SizeFigure, draw_curves
from .outcome import Benchmark


def render(benchmark: Benchmark, earlier: Sequence[Mapping[str, Any]]) -> str:
    """Return the page; earlier are the documents of earlier runs that can be compared, the newest first."""
    best, has_charts = benchmark.best, charts.are_available()
    status: Status = "fail" if benchmark.wrong else "pass"
    part = f", {text.percent(best.of_limit)} of the limit" if best and best.of_limit is not None else ""
    headline = f"{text.bandwidth(best.busbw_gb_per_s)} GB/s of bus bandwidth{part}" if best else "Nothing was measured"
    if benchmark.wrong:
        headline = f"The results are wrong: {text.results(benchmark)}"
    notes = [f"{text.title(benchmark)}.", *([] if has_charts else [charts.MISSING])]
    figures = [("ranks of a group", str(benchmark.setup.ranks)), ("groups", str(_groups(benchmark)))]
    figures += [("torch", benchmark.torch)] if benchmark.torch else []
    figures += [("NCCL", benchmark.library)] if benchmark.library else []
    content = {
        "figures": _figures(benchmark, earlier) if has_charts else [],
        "facts": text.facts(benchmark, earlier),
        "bounds": PageTable.of(
            "What bounds the bus bandwidth",
            ["where", "GB/s", "how it follows"],
            [
                [b.what, "" if b.gb_per_s is None else text.bandwidth(b.gb_per_s), b.reason]
                for b in benchmark.limit.bounds
            ],
            wrapped=True,
        ),
        "table": PageTable.of("All sizes", text.HEADERS, text.rows(benchmark.sizes)),
    }
    return render_page(
        "benchmark.html.j2", Header(benchmark.run_id, Headline(status, headline, notes), figures), content
    )


def _groups(benchmark: Benchmark) -> int:
    return len(benchmark.sizes[0].groups) if benchmark.sizes else 0


def _figures(benchmark: Benchmark, earlier: Sequence[Mapping[str, Any]]) -> list[Figure]:
    if not benchmark.sizes:
        return []
    before = [SizeCurve(text.date_of(run), text.curve_of(run), is_earlier=True) for run in earlier]
    measured = SizeCurve("this run", [(size.bytes, size.busbw_gb_per_s) for size in benchmark.sizes])
    busbw = SizeFigure("busbw in GB/s", [*reversed(before), measured], benchmark.limit.gb_per_s)
    times = [
        SizeCurve("p50", [(size.bytes, size.p50_us) for size in benchmark.sizes]),
        SizeCurve("p99", [(size.bytes, size.p99_us) for size in benchmark.sizes]),
    ]
    latency = SizeFigure("time in us", times, benchmark.latency.us, is_logarithmic=True)
    compared = f", and of {len(before)} earlier run{'s' * (len(before) > 1)} of the same kind" if before else ""
    return [
        Figure(f"bus bandwidth over the size{compared}", draw_curves(busbw)),
        Figure("the median and the 99th percentile of the times", draw_curves(latency)),
    ]
