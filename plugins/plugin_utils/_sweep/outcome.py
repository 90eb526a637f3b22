# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a point, by the experiment of its run or the document of its launch, and which point is the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED

from .._request.conditions import parse_order
from .._results.experiment import load
from .._results.rows import number
from .._results.summary import OTHER_NAMES, values_of
from .._text.table import one_line
from .record import REFUSED, RUNNING, STOPPED, SUCCEEDED, TIMED_OUT, Point

LONGEST = 300


@frozen
class Best:
    """The first combination with the best value: the mean of its runs, the least and the greatest.

    ties is the number of other combinations with the same mean.
    """

    parameters: Mapping[str, Any]
    value: float
    least: float
    greatest: float
    count: int
    ties: int = 0


def judge_point(point: Point, run_id: str | None, text: str | None, objective: str) -> Point | None:
    """Return a point with what became of it by the `run.yml` of its run; None where it has not ended."""
    try:
        run = load(text or "")
    except ValueError:
        return None
    outcome, elapsed = str(run.get("verdict")), number(run.get("elapsed_s"))
    if outcome not in ENDED:
        return None
    setting = as_dict(as_dict(run.get("parameters")).get("time_limit"))
    limit = number(setting.get("value"))
    if outcome == STOPPED and limit is not None and elapsed is not None and elapsed >= limit:
        outcome = TIMED_OUT
    value = number(values_of(str(run_id), run).get(number_name(objective))) if outcome == SUCCEEDED else None
    why = run.get("why")
    return replace(
        point,
        outcome=outcome,
        run_id=run_id,
        why=one_line(why, LONGEST) if why and outcome != SUCCEEDED else None,
        elapsed_s=elapsed,
        value=value if value is not None and math.isfinite(value) else None,
    )


def number_name(objective: str) -> str:
    """Return the name by which a run has the number of an objective, whether its least or its largest is the best."""
    name = parse_order(objective).name
    return OTHER_NAMES.get(name, name)


def refuse(point: Point, document: Mapping[str, Any]) -> Point:
    """Return a point whose launch ended, with this document, before there was a run."""
    return replace(point.forget(), outcome=REFUSED, why=one_line(first_error(document), LONGEST))


def first_error(document: Mapping[str, Any]) -> str:
    """Return the first error of a verb's document."""
    errors = document.get("errors")
    messages = [str(as_dict(error).get("message")) for error in errors] if isinstance(errors, list) else []
    return messages[0] if messages else "it gave no reason; see its log"


def unfinish(point: Point, why: str) -> Point:
    """Return a point whose run goes on, as far as is known."""
    return replace(point, outcome=RUNNING, why=one_line(why, LONGEST))


def best_of(points: Sequence[Point], objective: str) -> Best | None:
    """Return the best combination by the mean of its runs that succeeded; None where no run has the value."""
    values: dict[int, list[float]] = {}
    parameters = {point.number: point.parameters for point in points}
    for point in points:
        if point.value is not None:
            values.setdefault(point.number, []).append(point.value)
    if not values:
        return None
    means = {number: statistics.fmean(known) for number, known in values.items()}
    number = (max if parse_order(objective).descending else min)(means, key=lambda number: means[number])
    known = values[number]
    ties = sum(mean == means[number] for mean in means.values()) - 1
    return Best(parameters[number], means[number], min(known), max(known), len(known), ties)


def numbers_of(run_id: str | None, text: str | None) -> list[str]:
    """Return the names of a run's numbers, by which runs can be compared."""
    try:
        values = values_of(str(run_id), load(text or ""))
    except ValueError:
        return []
    return sorted(name for name, value in values.items() if number(value) is not None and not isinstance(value, str))
