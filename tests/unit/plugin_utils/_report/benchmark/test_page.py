# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the page of a benchmark, and of its files."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import charts
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.latency import LatencyLimit
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.measured import (
    Measured,
    MeasuredRow,
    Timing,
)
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.outcome import (
    COLUMNS,
    is_alike,
    sizes_of,
    to_csv,
)
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.page import render
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.text import curve_of
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark, setup

BEFORE = replace(
    benchmark(), run_id="benchmark_all_reduce_20261020_143052_8b1c", created="2026-10-20T14:30:52Z"
).to_dict()


def figures(page: str) -> list[list[str]]:
    """Return the texts of each figure."""
    return [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_curves_are_drawn_against_the_limit_and_earlier_runs() -> None:
    bandwidths, latencies = figures(render(benchmark(), [BEFORE]))
    for text in ("this run", "limit", "2026-10-20 14:30", "1 GiB", "busbw in GB/s"):
        assert text in bandwidths
    for text in ("p50", "p99", "limit", "time in us"):
        assert text in latencies


@pytest.mark.parametrize("p99_us", [230.0, 840.0, 40_000.0])
def test_times_of_any_range_have_several_labels(p99_us: float) -> None:
    sizes = [replace(size, p50_us=210.0, p99_us=p99_us) for size in benchmark().sizes]
    _bandwidths, latencies = figures(render(benchmark(sizes=sizes, latency=LatencyLimit(None, "")), []))
    labels = [float(text.replace(",", "")) for text in latencies if re.fullmatch(r"[0-9,.]+", text)]
    assert len([label for label in labels if 200 <= label <= p99_us]) >= 2


def test_an_earlier_document_may_hold_anything() -> None:
    sizes = [{"bytes": size, "busbw_gb_per_s": busbw} for size, busbw in ((10**400, 1.0), (8, 1e308), (16, 2.0))]
    assert curve_of({"sizes": [*sizes, {"bytes": True, "busbw_gb_per_s": None}]}) == [(16, 2.0)]
    assert figures(render(benchmark(), [{**BEFORE, "sizes": sizes}]))


def test_wrong_results_are_the_headline() -> None:
    assert '<div class="verdict pass">' in render(benchmark(), [])
    wrong = render(benchmark(wrong=3), [])
    assert '<div class="verdict fail">' in wrong
    assert "30 elements wrong" in wrong


def test_what_a_run_wrote_is_no_markup() -> None:
    page = render(benchmark(torch="<script>", library="{{ 1 }}"), [{**BEFORE, "run_id": "<b>"}, {"sizes": [1, None]}])
    assert "<script>" not in page and "<b>" not in page and "{{ 1 }}" in page


def test_without_matplotlib_the_page_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render(benchmark(), [])
    assert figures(page) == [] and charts.MISSING in page and "1 GiB" in page


def test_a_benchmark_of_nothing_has_a_page() -> None:
    assert "Nothing was measured" in render(benchmark(sizes=[]), [])


def test_the_sizes_as_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(benchmark().sizes))))
    assert list(rows[0]) == list(COLUMNS)
    assert (rows[0]["bytes"], rows[-1]["bytes"]) == ("8", str(1 << 30))
    last = benchmark().sizes[-1]
    assert float(rows[-1]["busbw_gb_per_s"]) == last.busbw_gb_per_s == pytest.approx(405.0, rel=0.01)
    assert last.of_limit == pytest.approx(0.9, rel=0.01)


def test_the_slowest_group_is_the_result() -> None:
    groups = benchmark(groups=4).sizes[-1].groups
    assert benchmark(groups=4).sizes[-1].busbw_gb_per_s == groups[-1].busbw_gb_per_s < groups[0].busbw_gb_per_s


def test_the_percentiles_are_those_of_the_slowest_group() -> None:
    slow, uneven = Timing(2.0, 2.0, 2.1, 1.9, 2.2, 0), Timing(1.0, 0.9, 9.0, 0.8, 9.5, 0)
    measured = Measured([[0, 2], [1, 3]], [MeasuredRow(1 << 20, 1 << 18, [slow, uneven])])
    [size] = sizes_of(setup(scope="rails", nproc=2), measured, benchmark().limit)
    assert (size.time_us, size.p50_us, size.p99_us) == (2e6, 2e6, 2.1e6)


def test_which_benchmarks_are_compared() -> None:
    document = benchmark().to_dict()
    assert is_alike(document, BEFORE)
    assert not is_alike(document, {**BEFORE, "collective": "all_gather"})
    assert not is_alike(document, {**BEFORE, "cluster": "another"})
    assert not is_alike(document, {})
