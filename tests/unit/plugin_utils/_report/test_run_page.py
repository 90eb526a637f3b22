# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the page of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import Hang
from ansible_collections.muster.train.plugins.plugin_utils._report import charts
from ansible_collections.muster.train.plugins.plugin_utils._report.curves import CurveChart
from ansible_collections.muster.train.plugins.plugin_utils._report.environment import environment_table
from ansible_collections.muster.train.plugins.plugin_utils._report.run_page import render_run
from ansible_collections.muster.train.plugins.plugin_utils._report.series import Curve, TrainingMetrics, reduce
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.samples import read_node
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.summary import RunTelemetry, summarize
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.trace import TraceSummary
from ansible_collections.muster.train.tests.support.experiments import DONE, record
from ansible_collections.muster.train.tests.support.report_parts import long_rank, reported_run
from ansible_collections.muster.train.tests.support.telemetry_parts import node

TITLES = [
    *("GPU utilization in %", "GPU power in W", "GPU clock in MHz", "GPU memory in GiB", "GPU temperature in °C"),
    *("CPU in %", "memory in GiB", "received in MB/s", "sent in MB/s"),
]
NOTHING: dict[str, Any] = {
    "metrics": TrainingMetrics([], [], [], {}, None),
    "telemetry": RunTelemetry(),
    "traces": [],
}
# What Muster writes itself, and what a user or a disk may make of it.
DAMAGED: list[Any] = [None, [], {}, "x", 7, [None], [{}], {"a": None}, {"a": {"environment": [None, {}]}}]


def figures(page: str) -> list[list[str]]:
    """Return the texts of each figure."""
    return [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def headings(page: str) -> list[str]:
    return re.findall(r"<h2>([^<]*)</h2>", page)


@pytest.fixture(scope="module")
def page() -> str:
    return render_run(reported_run())


def test_a_run_that_failed_has_every_section(page: str) -> None:
    assert headings(page) == [
        *("Why it ended", "No progress", "Attempts", "Findings", "Metrics"),
        *("Traces of torch's profiler", "Telemetry", "What was launched"),
    ]
    assert "ranks 0-1, 3 wait in all_reduce #1841, rank 2 has not entered it" in page
    for text in ("NCCL_IB_DISABLE", "fabric D1: no RDMA devices", "0123456789abcdef main, with changes", "-e channels"):
        assert text in page


def test_only_what_is_certain_is_called_a_hang() -> None:
    failed = replace(reported_run().runs[1], hang=Hang(is_certain=True))
    assert headings(render_run(reported_run(runs=[failed])))[1] == "Hang"


def test_a_run_without_trouble_has_no_empty_sections() -> None:
    run = reported_run(record=record(DONE), runs=[], plan={}, telemetry=RunTelemetry(), traces=[])
    assert headings(render_run(run)) == ["Metrics", "What was launched"]
    assert headings(render_run(replace(run, **NOTHING))) == ["What was launched"]


def test_the_figures_have_the_numbers_and_the_straggler(page: str) -> None:
    loss, times, ranks, rate, *others = figures(page)
    assert "loss" in loss
    assert "rank 2" in times
    assert "2" in ranks
    assert "tokens/s" in rate
    assert [title for title in TITLES if any(title in known for known in others)] == TITLES


def test_values_are_data(page: str) -> None:
    assert "&lt;b&gt;no loss&lt;/b&gt; {{ 7 * 7 }}" in page
    assert "<b>no loss" not in page


@pytest.mark.parametrize("key", ["jobs", "not_set", "findings"])
def test_a_damaged_plan_is_no_exception(key: str) -> None:
    for value in DAMAGED:
        assert "</html>" in render_run(reported_run(plan={key: value}, **NOTHING))


@pytest.mark.parametrize(
    "key",
    [
        *("parameters", "loss", "progress", "nodes", "code", "versions", "controller", "replaced", "ended_attempts"),
        *("attempts", "silent", "cause", "elapsed_s", "world_size", "verdict", "why", "notes", "command"),
    ],
)
def test_a_record_that_somebody_edited_is_no_exception(key: str) -> None:
    for value in DAMAGED:
        assert "</html>" in render_run(reported_run(record={**record(DONE), key: value}, runs=[], **NOTHING))


def test_many_ranks_and_steps_make_a_small_page() -> None:
    metrics = reduce([long_rank(rank, 10_000) for rank in range(64)], 64, {}, 4)
    page = render_run(reported_run(metrics=metrics))
    assert len(page.encode()) < 3_000_000
    assert len(figures(page)) == 4 + len(TITLES)


def test_many_gpus_make_a_small_page() -> None:
    telemetry = summarize([node(f"node{number}", gpus=8, samples=400) for number in range(32)])
    page = render_run(reported_run(telemetry=telemetry))
    assert len(page.encode()) < 1_000_000
    assert "32 of 256 GPUs, those that are marked" in page
    assert page.count("hw_thermal_slowdown 100%") == 32
    assert "GPU 2 on node0: throttled by hw_thermal_slowdown in 100% of the samples" in page
    assert "24 more GPUs throttled or unlike the others" in page


def test_the_table_of_traces_has_the_overlap(page: str) -> None:
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", page)
    cells = [re.findall(r">([^<]*)<", row) for row in rows if "33% of it" in row]
    assert [known[0] for known in cells] == ["0", "1", "2", "3"]
    assert "0.6 ms (60%)" in cells[0]


@pytest.mark.parametrize(("peak", "count"), [(246.0, 0), (2e6, 1)])
def test_a_port_that_carries_next_to_nothing_needs_no_figure(peak: float, count: int) -> None:
    curve = Curve("sent", [0.0, 1.0], [0.0, peak], [0.0, 0.0], [0.0, peak])
    summary = summarize([node("node0", gpus=0, samples=2)])
    run = reported_run(telemetry=replace(summary, host_curves=[curve], gpu_curves=[]), metrics=NOTHING["metrics"])
    assert len(figures(render_run(run))) == count


def test_telemetry_and_traces_that_could_not_be_read_are_notes() -> None:
    traces = [TraceSummary(f"rank_{rank}_trace.json", rank, problem="empty") for rank in range(5)]
    telemetry = summarize([read_node(name, [b"{"]) for name in ("node0", "node1")])
    page = render_run(reported_run(telemetry=telemetry, traces=traces))
    assert "node0 and node1: 1 line of the telemetry could not be read and is left out." in page
    assert "Each of 5 traces (rank_0_trace.json, rank_1_trace.json, rank_2_trace.json and 2 more) is empty" in page


def test_without_matplotlib_it_has_no_figures_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render_run(reported_run())
    assert figures(page) == []
    assert "hw_thermal_slowdown 100%" in page
    assert "does not have Matplotlib" in page
    assert "160 ms" in page


def test_it_is_the_same_each_time(page: str) -> None:
    assert render_run(reported_run()) == page


def test_peaks_are_cut_only_where_they_hide_the_rest() -> None:
    steps = [float(step) for step in range(100)]
    flat = [1.0] * 100
    assert CurveChart("x", Curve("x", steps, flat, flat, [1.2] * 100)).ceiling is None
    assert CurveChart("x", Curve("x", steps, flat, flat, [1.5] * 99 + [50.0]), 1000).ceiling == 4500


def test_a_variable_with_another_value_on_each_node_has_two_rows() -> None:
    def rows(count: int) -> list[list[str]]:
        jobs = {f"n{node}": {"environment": [{"name": "A", "value": str(node)}]} for node in range(count)}
        table = environment_table({"jobs": jobs})
        assert table is not None
        return [[cell.text for cell in row] for row in table.rows]

    assert rows(1) == [["A", "0"]]
    assert rows(2) == [["A", "0", "n0"], ["A", "1", "n1"]]
    assert rows(64) == [["A", "0", "n0"], ["A", "63 other values", "n[1-63]"]]
