# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as it is reported, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

from .._page.page import count
from .._results.rows import duration, number, number_text
from .remarks import remark_text
from .series import TrainingMetrics
from .telemetry.summary import RunTelemetry
from .telemetry.text import note_texts, unusual
from .traces.text import note_texts as trace_notes
from .traces.trace import TraceSummary


@frozen
class ReportedRun:
    """A run as its experiment has it: `run.yml`, `plan.json`, the nodes' records, and what the run has written."""

    run_id: str
    record: Mapping[str, Any]
    plan: Mapping[str, Any]
    runs: Sequence[RunRecord]
    metrics: TrainingMetrics
    telemetry: RunTelemetry = field(default_factory=RunTelemetry)
    traces: Sequence[TraceSummary] = field(default_factory=list)


def summary(run: ReportedRun) -> str:
    """Return how a run ended, in one line."""
    record = run.record
    ranks, nodes = number(record.get("world_size")), record.get("nodes")
    places = f" on {count(len(nodes), 'node')}" if isinstance(nodes, list) else ""
    parts = [
        str(record.get("verdict") or "unknown"),
        f"{count(int(ranks), 'rank')}{places}" if ranks else "",
        f"loss {losses}" if (losses := losses_text(record)) else "",
        duration(record.get("elapsed_s")),
    ]
    return " · ".join(filter(None, parts))


def lines(run: ReportedRun) -> list[str]:
    """Return what is read on a terminal: how it ended, its speed, its stragglers, and what is odd in its metrics."""
    metrics, why = run.metrics, run.record.get("why")
    known = [
        f"median step time {median}" if (median := median_step_time(metrics)) else "",
        f"median {rate_name(metrics.rate)} {rate}" if (rate := median_rate(metrics)) else "",
    ]
    return [
        f"{run.run_id}  {summary(run)}",
        *([f"  {why}"] if why else []),
        *([f"  {' · '.join(filter(None, known))}"] if any(known) else []),
        *(f"  straggler: {text}" for text in straggler_texts(metrics)),
        *(f"  {remark_text(remark)}" for remark in metrics.remarks),
        *(f"  {text}" for text in unusual(run.telemetry.gpus)),
        *(f"  {text}" for text in note_texts(run.telemetry.notes)),
        *(f"  {text}" for text in trace_notes(run.traces)),
    ]


def straggler_texts(metrics: TrainingMetrics) -> list[str]:
    """Return a line for each straggler, the slowest first."""
    ranks = sorted((rank for rank in metrics.ranks if rank.is_straggler), key=lambda rank: rank.score or 0.0)
    return [
        f"rank {rank.rank}{f' on {rank.node}' if rank.node else ''}, {time_text(rank.step_s)} a step, "
        f"{rank.score or 0.0:.0%} of the fastest rank's speed"
        for rank in ranks
    ]


def median_step_time(metrics: TrainingMetrics) -> str:
    """Return the median of the ranks' step times, empty without one."""
    times = sorted(rank.step_s for rank in metrics.ranks if rank.step_s is not None)
    return time_text(times[len(times) // 2]) if times else ""


def median_rate(metrics: TrainingMetrics) -> str:
    """Return the median of the speeds that the ranks report, empty without one."""
    curve = metrics.curve(metrics.rate) if metrics.rate else None
    rates = sorted(curve.values) if curve else []
    return number_text(rates[len(rates) // 2]) if rates else ""


def time_to_first_step(record: Mapping[str, Any]) -> str:
    """Return how long the ranks took from their start to the first step, empty where that is not known."""
    started, first = seconds_of(record.get("started")), seconds_of(record.get("first_step"))
    return "" if started is None or first is None or first < started else duration(first - started)


def losses_text(record: Mapping[str, Any]) -> str:
    """Return the first and the last loss of the head: `5.55 -> 1.93`."""
    loss = as_dict(record.get("loss"))
    known = [number(loss.get("first")), number(loss.get("last"))]
    return " -> ".join(f"{value:.3g}" for value in known if value is not None)


def rate_name(rate: str | None) -> str:
    """Return a speed as a person reads it: tokens/s."""
    return str(rate or "").replace("_per_s", "/s")


def time_text(seconds: float | None) -> str:
    """Return the time of a step: `141 ms`, `2.1 s`."""
    return (
        "" if seconds is None else f"{number_text(1000 * seconds)} ms" if seconds < 1 else f"{number_text(seconds)} s"
    )
