# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a sweep: what the best combination is, how the others compare, and what failed."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.finding import Status
from .._page.page import Header, Headline
from .._page.page import render as render_page
from .._page.tables import PageTable
from .._request.conditions import parse_order
from .._results.rows import duration, number_text
from .._sweep.outcome import best_of
from .._sweep.record import DONE, Point, Sweep, unfinished
from .._sweep.text import Key, best_text, headers_and_rows, key_of, outcome_text, summary, value_text, values_text
from .._text.table import one_line
from . import charts, parallel
from .charts import Figure

# More maps than that say less than the table.
MOST_MAPS = 6
WIDEST_LABEL = 16
# With fewer parameters a map shows all of them.
FEWEST_AXES = 3


@frozen
class FailedPoints:
    """What points that ended alike have in common."""

    outcome: str
    why: str
    points: Sequence[str]


def render(sweep: Sweep, launch: str | None, title: str | None = None, remarks: Sequence[str] = ()) -> str:
    """Return the page; launch is the command that launches the best combination. A sweep without a name has a title."""
    best = best_of(sweep.points, sweep.objective)
    left = unfinished(sweep.chosen)
    status: Status = "pass" if not sweep.unfinished else "fail" if any(point.why for point in left) else "warn"
    notes = [*([f"The best {parse_order(sweep.objective).name} is {best_text(best)}."] if best else []), *remarks]
    if len(sweep.axes) > 1 and best and not _has_maps(sweep):
        notes.append("There are too many values for a map.")
    if not charts.are_available():
        notes.append(charts.MISSING)
    count = len({point.number for point in sweep.points})
    figures = [
        ("runs", str(len(sweep.chosen) + sweep.left)),
        ("combinations", f"{sweep.trials} of {count}" if sweep.trials else str(count)),
        *([("search", sweep.search)] if sweep.trials else []),
        ("time of the runs", duration(sum(point.elapsed_s or 0.0 for point in sweep.points))),
    ]
    headers, rows = headers_and_rows(sweep)
    content = {
        "best": best and values_text(best.parameters),
        "launch": launch,
        "figures": _figures(sweep) if charts.are_available() else [],
        "failures": _failures(sweep.points),
        "table": PageTable.of("All runs", headers, rows),
    }
    header = Header(title or sweep.sweep_id, Headline(status, summary(sweep), notes), figures)
    return render_page("sweep.html.j2", header, content)


def _failures(points: Sequence[Point]) -> list[FailedPoints]:
    groups: dict[tuple[str, str], list[str]] = {}
    for point in points:
        if point.why and point.outcome not in DONE:
            groups.setdefault((outcome_text(point.outcome), point.why), []).append(values_text(point.parameters))
    return [FailedPoints(outcome, why, list(dict.fromkeys(known))) for (outcome, why), known in groups.items()]


def _figures(sweep: Sweep) -> list[Figure]:
    """Return what compares the values; nothing where no run has one."""
    best = best_of(sweep.points, sweep.objective)
    if best is None:
        return []
    runs = _runs(sweep.points)
    trials = [_trials(sweep)] if sweep.trials else []
    maps = _heat_maps(sweep, runs, key_of(best.parameters)) if _has_maps(sweep) else []
    return [*trials, *maps, *_parallel(sweep, runs, key_of(best.parameters)), _dots(sweep, runs)]


def _has_maps(sweep: Sweep) -> bool:
    """Return whether the values make maps that can be read."""
    sizes = [len(values) for values in sweep.axes.values()]
    if len(sizes) < 2 or math.prod(sizes[2:]) > MOST_MAPS:
        return False
    return sizes[0] <= charts.MOST_COLUMNS and sizes[1] <= charts.MOST_ROWS


def _heat_maps(sweep: Sweep, runs: Mapping[Key, Sequence[Point]], best: Key) -> list[Figure]:
    """Return a map over the first two parameters for each combination of the others, all in the same colors."""
    name = parse_order(sweep.objective).name
    (x_name, x_values), (y_name, y_values), *others = sweep.axes.items()
    means = [mean for points in runs.values() if (mean := _mean(points)) is not None]
    figures = []
    for combination in itertools.product(*(values for _name, values in others)):
        fixed = dict(zip((other for other, _values in others), combination, strict=True))
        where = f", {values_text(fixed)}" if fixed else ""
        keys = [[key_of({x_name: x, y_name: y, **fixed}) for x in x_values] for y in y_values]
        heat_map = charts.HeatMap(
            title=f"{name}{where}",
            x_name=x_name,
            y_name=y_name,
            x_values=[label_of(value) for value in x_values],
            y_values=[label_of(value) for value in y_values],
            rows=[[_cell(runs.get(key, ())) for key in row] for row in keys],
            scale=(min(means), max(means)),
            number=number_text,
            marked=[(x, y) for y, row in enumerate(keys) for x, key in enumerate(row) if key == best],
        )
        frame = "; the best has a frame" if heat_map.marked else ""
        caption = f"{name}{where}: the mean of the runs of each combination, the darker the smaller{frame}"
        figures.append(Figure(caption, charts.draw_heat_map(heat_map)))
    return figures


def _parallel(sweep: Sweep, runs: Mapping[Key, Sequence[Point]], best: Key) -> list[Figure]:
    """Return a view of all parameters at once, where they are more than a map has."""
    axes = [
        parallel.ParallelAxis(label_of(name), [label_of(value) for value in values])
        for name, values in sweep.axes.items()
    ]
    if len(axes) < FEWEST_AXES or not parallel.fits(axes):
        return []
    places = [{value_text(value): place for place, value in enumerate(values)} for values in sweep.axes.values()]
    means = {key: mean for key, points in runs.items() if (mean := _mean(points)) is not None}
    lines = [
        ([known[text] for known, text in zip(places, key, strict=True)], mean)
        for key, mean in means.items()
        if all(text in known for known, text in zip(places, key, strict=True))
    ]
    name = parse_order(sweep.objective).name
    chart = parallel.ParallelChart(name, axes, lines, list(means).index(best))
    caption = f"{name}: a line for each combination, the mean of its runs, the darker the smaller; the best is orange"
    return [Figure(caption, parallel.draw_parallel(chart))]


def _dots(sweep: Sweep, runs: Mapping[Key, Sequence[Point]]) -> Figure:
    """Return a chart of all runs, the best combinations first, from which the spread of repeats can be seen."""
    order = parse_order(sweep.objective)
    means = {key: mean for key, points in runs.items() if (mean := _mean(points)) is not None}
    best = sorted(means, key=lambda key: means[key], reverse=order.descending)
    labels = [values_text(runs[key][0].parameters) for key in best]
    values = [[point.value for point in runs[key] if point.value is not None] for key in best]
    more = f" (the {charts.MOST_ROWS} best of {len(best)} combinations)" if len(best) > charts.MOST_ROWS else ""
    caption = f"{order.name} of every run, and the mean of each combination, the best first{more}"
    return Figure(caption, charts.draw_dot_chart(charts.DotChart(order.name, labels, values)))


def _trials(sweep: Sweep) -> Figure:
    """Return a chart of the runs in the order of their trials, and of the best value so far."""
    order, tried, values = parse_order(sweep.objective), sweep.tried, sweep.chosen
    known = [(tried[point.number], point.value) for point in values if point.value is not None]
    caption = f"{order.name} of every run in the order of the trials; the line is the best so far"
    best = max if order.descending else min
    return Figure(caption, charts.draw_trial_chart(order.name, known, best, sweep.trials or len(known)))


def label_of(value: Any) -> str:
    """Return a value, or the name of a parameter, as an axis has it."""
    return one_line(value_text(value), WIDEST_LABEL)


def _cell(points: Sequence[Point]) -> float | str:
    """Return the mean of a combination's runs, or what became of the first one where none has a value."""
    mean = _mean(points)
    return mean if mean is not None else "".join(outcome_text(point.outcome) for point in points[:1])


def _runs(points: Iterable[Point]) -> dict[Key, list[Point]]:
    """Return the runs of each combination."""
    runs: dict[Key, list[Point]] = {}
    for point in points:
        runs.setdefault(key_of(point.parameters), []).append(point)
    return runs


def _mean(points: Iterable[Point]) -> float | None:
    values = [point.value for point in points if point.value is not None]
    return statistics.fmean(values) if values else None
