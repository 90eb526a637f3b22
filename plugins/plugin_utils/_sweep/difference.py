# SPDX-License-Identifier: GPL-3.0-or-later
"""How the combinations of a sweep differ from the same ones of another sweep: a build, a machine or a month earlier."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.conditions import parse_order, sort_key
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
    """A combination in the sweep and in the other one, None where it is missing; the change is against the other."""

    parameters: Mapping[str, Any]
    runs: CombinationRuns | None
    other: CombinationRuns | None
    change_percent: float | None
    effect: str


@frozen
class SweepDifference:
    """A sweep against another one by an objective; axes have the values of both.

    noise_percent is the largest difference between repeats of a combination in percent of its mean, in either sweep;
    None without repeats, of which there are so many.
    """

    sweep_id: str
    against: str
    objective: str
    axes: Mapping[str, Sequence[Any]]
    noise_percent: float | None
    repeats: int
    combinations: Sequence[CombinationDifference]

    def count(self, effect: str) -> int:
        """Return how many combinations have an effect."""
        return sum(known.effect == effect for known in self.combinations)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the document."""
        names = ("sweep_id", "against", "objective", "noise_percent")
        combinations = [asdict(known) for known in self.combinations]
        return {**{name: getattr(self, name) for name in names}, "differences": combinations}


def compare_sweeps(sweep: Sweep, other: Sweep) -> SweepDifference:
    """Compare a sweep with another one over the same parameters, by its objective; raise ValueError for others."""
    if {*sweep.axes} != {*other.axes}:
        texts = [", ".join(known.axes) for known in (sweep, other)]
        raise ValueError(f"{sweep.sweep_id} is over {texts[0]}, and {other.sweep_id} over {texts[1]}")
    order = parse_order(sweep.objective)
    groups, others = _groups(sweep, sweep.axes), _groups(other, sweep.axes)
    repeats = [_values(points) for points in (*groups.values(), *others.values())]
    noise = _noise_percent(order.name, repeats)
    return SweepDifference(
        sweep_id=sweep.sweep_id,
        against=other.sweep_id,
        objective=sweep.objective,
        axes={name: _merged(values, other.axes[name]) for name, values in sweep.axes.items()},
        noise_percent=noise,
        repeats=sum(len(values) for values in repeats if len(values) > 1),
        combinations=[
            _difference(groups.get(key, ()), others.get(key, ()), list(sweep.axes), noise, order.descending)
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


def _noise_percent(name: str, groups: Sequence[Sequence[float]]) -> float | None:
    known = [
        percent
        for values in groups
        if (spread := spread_of(name, values)) is not None
        and (percent := percent_of(spread, statistics.fmean(values))) is not None
    ]
    return max(known, default=None)


def _difference(
    points: Sequence[Point], others: Sequence[Point], names: Sequence[str], noise: float | None, descending: bool
) -> CombinationDifference:
    runs, other = _runs(points), _runs(others)
    parameters = {name: [*points, *others][0].parameters.get(name) for name in names}
    if runs is None or other is None:
        return CombinationDifference(parameters, runs, other, None, ABSENT if runs is None else ADDED)
    if runs.mean is None or other.mean is None:
        return CombinationDifference(parameters, runs, other, None, UNKNOWN)
    step = shortened(runs.mean - other.mean)
    change = percent_of(step, other.mean)
    is_within = change is not None and noise is not None and abs(change) <= noise
    effect = SAME if not step else WITHIN_NOISE if is_within else BETTER if (step > 0) == descending else WORSE
    return CombinationDifference(parameters, runs, other, change, effect)
