# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of a page for a spreadsheet, and for a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_stamp

from .._request.conditions import parse_order
from .._results.listing import csv_text
from .._sweep.difference import CombinationRuns, SweepDifference
from .._sweep.outcome import best_of
from .._sweep.record import Point, Sweep
from .remarks import remark_text
from .run_parts import TIMES
from .run_text import ReportedRun
from .series import Curve, plain_data, short
from .telemetry.summary import RunTelemetry
from .telemetry.text import note_texts


def run_numbers(run: ReportedRun) -> dict[str, Any]:
    """Return the keys that the document has of a run."""
    metrics = run.metrics
    remarks = [
        {"kind": remark.kind, "ranks": list(remark.ranks), "count": remark.count, "text": remark_text(remark)}
        for remark in metrics.remarks
    ]
    verdict = {name: run.record.get(name) for name in ("verdict", "why")}
    return {
        "run_id": run.run_id,
        **verdict,
        "times": {name: as_stamp(run.record.get(name)) for name in TIMES},
        **metrics.to_dict(),
        "remarks": remarks,
        "telemetry": {**run.telemetry.to_dict(), "notes": note_texts(run.telemetry.notes)},
        "traces": [plain_data(dataclasses.asdict(trace)) for trace in run.traces],
    }


def telemetry_csv(telemetry: RunTelemetry) -> str:
    """Return the curves with a row for each time that is shown, in seconds, and three columns for each metric."""
    named = {"gpu": telemetry.gpu_curves, "host": telemetry.host_curves}
    return curves_csv(
        [dataclasses.replace(curve, name=f"{of}_{curve.name}") for of, curves in named.items() for curve in curves],
        "seconds",
    )


def curves_csv(curves: Sequence[Curve], axis: str = "step") -> str:
    """Return curves with a row for each step that is shown, and three columns for each metric."""
    names = [(curve.name, f"{curve.name}_min", f"{curve.name}_max") for curve in curves]
    rows: dict[float, dict[str, float]] = {}
    for curve, columns in zip(curves, names, strict=True):
        for step, *values in zip(curve.steps, curve.values, curve.lows, curve.highs, strict=True):
            rows.setdefault(step, {}).update(zip(columns, values, strict=True))
    header = [axis, *(name for columns in names for name in columns)]
    cells = ((step, *(rows[step].get(name) for name in header[1:])) for step in sorted(rows))
    return csv_text(header, [[None if cell is None else short(cell) for cell in row] for row in cells])


def sweep_numbers(sweep: Sweep) -> dict[str, Any]:
    """Return the keys that the document has of a sweep."""
    best = best_of(sweep.points, sweep.objective)
    return {
        "sweep_id": sweep.sweep_id,
        "objective": sweep.objective,
        "search": sweep.search,
        "trials": sweep.trials,
        "points": [point.to_dict() for point in sweep.points],
        "best": best and dataclasses.asdict(best),
    }


def points_csv(sweep: Sweep) -> str:
    """Return the runs of a sweep, a row for each."""
    header = [
        "point",
        "repeat",
        *sweep.axes,
        "outcome",
        "elapsed_s",
        parse_order(sweep.objective).name,
        "run_id",
        "why",
    ]
    return csv_text(header, [_point_row(point) for point in sweep.points])


def differences_csv(difference: SweepDifference) -> str:
    """Return the combinations of two sweeps, a row for each."""
    parts = ("", "_least", "_greatest", "_runs", "_outcome")
    header = [*difference.axes, *(f"{side}{part}" for side in ("against", "sweep") for part in parts)]
    rows = [
        [
            *known.parameters.values(),
            *_cells(known.other),
            *_cells(known.runs),
            known.change_percent,
            known.noise_percent,
            known.effect,
        ]
        for known in difference.combinations
    ]
    return csv_text([*header, "change_percent", "noise_percent", "effect"], rows)


def _cells(runs: CombinationRuns | None) -> Sequence[object]:
    return [None] * 5 if runs is None else [runs.mean, runs.least, runs.greatest, runs.count, runs.outcome]


def _point_row(point: Point) -> Sequence[object]:
    end = (point.outcome, point.elapsed_s, point.value, point.run_id, point.why)
    return [point.number, point.repeat, *point.parameters.values(), *end]
