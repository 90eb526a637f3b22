# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a list as the points of a sweep, whichever command launched them, and wherever they were imported from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.conditions import sort_key
from .._results.summary import ExperimentSummary, known_name
from .outcome import judge_point
from .record import RUNNING, Point, Sweep
from .text import Key, key_of, value_text


@frozen
class Selection:
    """The sweep, which has no name, and the run IDs of those that lack one of the values."""

    sweep: Sweep
    left_out: Sequence[str]


def select_points(
    entries: Sequence[ExperimentSummary], texts: Mapping[str, str], names: Sequence[str], objective: str
) -> Selection:
    """Return runs as points over some of their values, those with the same ones as repeats, in the order of entries.

    texts has the `run.yml` of each by its run ID; raise UserError for a name that no run has.
    """
    known = {name for entry in entries for name, value in entry.values.items() if value not in (None, "")}
    names = [known_name("over", name, known) for name in names]
    groups: dict[Key, list[ExperimentSummary]] = {}
    left_out = []
    for entry in entries:
        if any(entry.values.get(name) in (None, "") for name in names):
            left_out.append(entry.run_id)
        else:
            groups.setdefault(key_of(entry.values, names), []).append(entry)
    points = [
        _point(number, repeat, {name: _plain(entry.values[name]) for name in names}, entry, texts, objective)
        for number, key in enumerate(sorted(groups, key=lambda key: list(map(sort_key, key))), start=1)
        for repeat, entry in enumerate(groups[key], start=1)
    ]
    axes = {name: _values([point.parameters[name] for point in points]) for name in names}
    return Selection(Sweep("", "", "", "", objective, axes, points), left_out)


def _point(
    number: int,
    repeat: int,
    values: dict[str, Any],
    entry: ExperimentSummary,
    texts: Mapping[str, str],
    objective: str,
) -> Point:
    point = Point(number, repeat, values, key=entry.run_id, outcome=RUNNING, run_id=entry.run_id)
    return judge_point(point, entry.run_id, texts[entry.run_id], objective) or point


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it: YAML has dates, too."""
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _values(values: Sequence[Any]) -> list[Any]:
    """Return the different values in their order."""
    return sorted({value_text(value): value for value in values}.values(), key=sort_key)
