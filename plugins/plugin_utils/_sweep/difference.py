# SPDX-License-Identifier: GPL-3.0-or-later
"""How the combinations of a sweep differ from the same ones of another sweep: a build, a machine or a month earlier."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.conditions import Order, parse_order, sort_key
from .._results.changes import percent_of, shortened, spread_of
from .record import Point, Sweep
from .text import Key, key_of, value_text

# What has become of a combination. Where one of the sweeps has no value of it, the effect is unknown.
BETTER, WORSE, SAME, WITHIN_NOISE, UNKNOWN = "better", "worse", "same", "within_noise", "unknown"
# It is in the sweep alone, or in the other one alone.
ADDED, ABSENT = "added", "absent"
EFFECTS = (BETTER, WORSE, WITHIN_NOISE, SAME, UNKNOWN, ADDED, ABSENT)


@frozen
class CombinationRuns:
    """The runs of a combination: the mean of those with a value, the least and the greatest, and their number.

    outcome is that of the first one without a value, where none has one.
    """

    mean: float | None
    least: float | None
    greatest: float | None
    count: int
    outcome: str | None


@frozen
class CombinationDifference:
    """A combination in the sweep and in the other one, None where it is missing; the change is against the other.

    noise_percent is what the change is judged by: the larger spread of its own repeats in either sweep, or that of the
    sweeps where it has none; None where neither is known, or there is no change.
    """

    parameters: Mapping[str, Any]
    runs: CombinationRuns | None
    other: CombinationRuns | None
    change_percent: float | None
    noise_percent: float | None
    effect: str


@frozen
class SweepDifference:
    """A sweep against another one by an objective; axes have the values of both.

    A group are the repeats of a combination in one sweep, and its spread is their largest difference in percent of
    their mean. noise_percent is the median of the spreads of all noise_groups; None if that is not known.
    """

    sweep_id: str
    against: str
    objective: str
    axes: Mapping[str, Sequence[Any]]
    noise_percent: float | None
    noise_groups: int
    combinations: Sequence[CombinationDifference]

    def count(self, effect: str) -> int:
        """Return how many combinations have an effect."""
        return sum(known.effect == effect for known in self.combinations)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the document."""
        names = ("sweep_id", "against", "objective", "noise_percent", "noise_groups")
        combinations = [asdict(known) for known in self.combinations]
        return {**{name: getattr(self, name) for name in names}, "differences": combinations}


def compare_sweeps(sweep: Sweep, other: Sweep) -> SweepDifference:
    """Compare a sweep with another one over the same parameters, by its objective; raise ValueError for others."""
    if {*sweep.axes} != {*other.axes}:
        texts = [", ".join(known.axes) for known in (sweep, other)]
        raise ValueError(f"{sweep.sweep_id} is over {texts[0]}, and {other.sweep_id} over {texts[1]}")
    order = parse_order(sweep.objective)
    groups, others = _groups(sweep, sweep.axes), _groups(other, sweep.axes)
    spreads = _spreads(order.name, *groups.values(), *others.values())
    noise = _noise_percent(spreads, statistics.median)
    return SweepDifference(
        sweep_id=sweep.sweep_id,
        against=other.sweep_id,
        objective=sweep.objective,
        axes={name: _merged(values, other.axes[name]) for name, values in sweep.axes.items()},
        noise_percent=noise,
        noise_groups=len(spreads),
        combinations=[
            _difference(groups.get(key, ()), others.get(key, ()), list(sweep.axes), noise, order)
            for key in dict.fromkeys([*groups, *others])
        ],
    )


def _groups(sweep: Sweep, names: Iterable[str]) -> dict[Key, list[Point]]:
    groups: dict[Key, list[Point]] = {}
    for point in sweep.points:
        groups.setdefault(key_of(point.parameters, names), []).append(point)
    return groups


def _merged(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the values of both axes: those of the first in their order, and in one order where there are more."""
    known = {value_text(value): value for value in [*others, *values]}
    order = [value_text(value) for value in values]
    more = [text for text in known if text not in order]
    return [known[text] for text in (sorted([*order, *more], key=sort_key) if more else order)]


def _values(points: Sequence[Point]) -> list[float]:
    return [point.value for point in points if point.value is not None]


def _runs(points: Sequence[Point]) -> CombinationRuns | None:
    if not points:
        return None
    values = _values(points)
    if not values:
        return CombinationRuns(None, None, None, 0, points[0].outcome)
    mean = shortened(statistics.fmean(values))
    return CombinationRuns(mean, min(values), max(values), len(values), None)


def _spreads(name: str, *groups: Sequence[Point]) -> list[float]:
    """Return the spread of the repeats of each group that has some, in percent of their mean."""
    return [
        percent
        for values in map(_values, groups)
        if (spread := spread_of(name, values)) is not None
        and (percent := percent_of(spread, statistics.fmean(values))) is not None
    ]


def _noise_percent(spreads: Sequence[float], measure: Callable[[Sequence[float]], float]) -> float | None:
    """Return the noise by the spreads of groups; None where a single one has none, which may be chance."""
    return round(measure(spreads), 2) if len(spreads) > 1 or any(spreads) else None


def _difference(
    points: Sequence[Point], others: Sequence[Point], names: Sequence[str], usual_noise: float | None, order: Order
) -> CombinationDifference:
    runs, other = _runs(points), _runs(others)
    parameters = {name: [*points, *others][0].parameters.get(name) for name in names}
    if runs is None or other is None:
        return CombinationDifference(parameters, runs, other, None, None, ABSENT if runs is None else ADDED)
    if runs.mean is None or other.mean is None:
        return CombinationDifference(parameters, runs, other, None, None, UNKNOWN)
    step = shortened(runs.mean - other.mean)
    change = percent_of(step, other.mean)
    noise = _noise_percent(_spreads(order.name, points, others), max)
    noise = None if change is None else usual_noise if noise is None else noise
    is_within = change is not None and noise is not None and abs(change) <= noise
    effect = SAME if not step else WITHIN_NOISE if is_within else BETTER if (step > 0) == order.descending else WORSE
    return CombinationDifference(parameters, runs, other, change, noise, effect)
