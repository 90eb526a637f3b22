# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of runs as a person reads it: a row for each run, a column for each difference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._request.conditions import text_of
from .._text.table import GAP, one_line, table
from .comparison import Comparison, MetricDifference, SettingDifference
from .listing import WIDEST, distinct
from .rows import duration, number, number_text
from .summary import COMMIT_SIGNS

DIGEST = re.compile(r"[0-9a-f]{20,}")
ELAPSED = "elapsed_s"
NOISE = "noise"


def lines(comparison: Comparison, width: int) -> list[str]:
    """Return the runs with their numbers, tables of what differs, what is the same, and what is known of the noise."""
    numbers = [str(index) for index, _run_id in enumerate(comparison.runs, start=1)]
    shown = table(["run", "run id"], zip(numbers, comparison.runs, strict=True), width)
    parts: dict[str, list[SettingDifference]] = {}
    for difference in comparison.differences:
        parts.setdefault(difference.part, []).append(difference)
    for part, differences in parts.items():
        shown += _tables(part, numbers, {known.name: _cells(known) for known in differences}, width)
    if comparison.metrics:
        columns = {_title(metric.name): _changes(metric) for metric in comparison.metrics}
        is_known = any(metric.noise is not None for metric in comparison.metrics)
        rows = [*numbers, *([NOISE] if is_known else [])]
        shown += [*_tables("metrics", rows, columns, width), "", *_about_noise(comparison, is_known)]
    if comparison.same:
        shown += ["", f"the same: {', '.join(comparison.same)}"]
    return shown + [f"not known, and not compared: {part} of {run_id}" for run_id, part in comparison.unknown]


def _tables(title: str, rows: Sequence[str], columns: Mapping[str, Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table, or of several where one would be too wide."""
    for names in _portions(title, columns, width):
        cells = [[row, *(columns[name][index] for name in names)] for index, row in enumerate(rows)]
        yield ""
        yield from table([title, *names], cells, 10 * width)


def _portions(title: str, columns: Mapping[str, Sequence[str]], width: int) -> Iterable[list[str]]:
    portions: list[list[str]] = []
    used = width
    for name, cells in columns.items():
        size = len(GAP) + max(map(len, (name, *cells)))
        if used + size > width:
            portions.append([])
            used = len(title)
        portions[-1].append(name)
        used += size
    return portions


def _title(metric: str) -> str:
    return "elapsed" if metric == ELAPSED else one_line(metric, WIDEST)


def _cells(difference: SettingDifference) -> list[str]:
    return [one_line(text, WIDEST) for text in distinct([_shown(value) for value in difference.values])]


def _shown(value: Any) -> str:
    text = text_of(value)
    return text[:COMMIT_SIGNS] if DIGEST.fullmatch(text) else text or "-"


def _changes(metric: MetricDifference) -> list[str]:
    """Return the value of each run with its change, in brackets if that is within the noise, and then the noise."""
    cells = []
    for value, change, is_above in zip(metric.values, metric.changes_percent, metric.above_noise, strict=True):
        percent = f"{change:+.1f} %" if change else ""
        percent = f"({percent})" if percent and is_above is False else percent
        cells.append(f"{_value(metric.name, value)} {percent}".rstrip())
    first = number(metric.values[0])
    if metric.noise is None:
        return [*cells, ""]
    return [*cells, f"{100 * metric.noise / abs(first):.1f} %" if first else _value(metric.name, metric.noise)]


def _value(name: str, value: Any) -> str:
    known = number(value)
    if known is None:
        return one_line(text_of(value), WIDEST) or "-"
    return duration(known) if name == ELAPSED else number_text(known)


def _about_noise(comparison: Comparison, is_known: bool) -> list[str]:
    if not comparison.repeats:
        return [
            "changes are those against run 1; the noise is not known, as no two of these runs have the same settings:",
            "launch one of them again, or sweep with -e repeat=3",
        ]
    if not is_known:
        return ["changes are those against run 1; the noise is not known, as repeats have no number in common"]
    count = sum(map(len, comparison.repeats))
    return [
        "changes are those against run 1, in brackets if they are within the noise: the largest difference between",
        f"runs with the same settings, of which there are {count}",
    ]
