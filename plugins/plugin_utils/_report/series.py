# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of all ranks, made few: curves of some hundred points, and a summary of each rank."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .metrics import Oddity, RankMetrics

# As wide as a figure has pixels, a curve says no more.
MOST_POINTS = 400
# Below this part of the fastest rank's speed a rank is a straggler: the default of NVIDIA's Resiliency Extension for
# relative scores (straggler/reporting.py, identify_stragglers).
STRAGGLER_SCORE = 0.75
# Fewer step times than these, of which the first ones have the warm-up in them, do not make a rank a straggler.
FEWEST_TIMES = 5
DIGITS = 6


@frozen
class Curve:
    """A metric over the steps: the median of the ranks' means, the least and the greatest value of any rank.

    A point stands for all steps since the one before it, and has the last of them.
    """

    name: str
    steps: Sequence[float]
    values: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


@frozen
class RankSummary:
    """A rank in numbers; step_s is the median of its step times, score the fastest rank's divided by it.

    lines are those that could be read.
    """

    rank: int
    node: str | None
    lines: int
    last_step: float | None
    first_loss: float | None
    last_loss: float | None
    step_s: float | None
    step_s_p95: float | None
    score: float | None = None
    is_straggler: bool = False


@frozen
class Remark:
    """What is odd in the metrics of some ranks: how often in all, and the first of them as an example."""

    kind: str
    ranks: Sequence[int]
    count: int
    example: Oddity


@frozen
class TrainingMetrics:
    """What all ranks have written; of_stragglers has the step times of some stragglers, by rank."""

    curves: Sequence[Curve]
    ranks: Sequence[RankSummary]
    remarks: Sequence[Remark]
    of_stragglers: Mapping[int, Curve]
    rate: str | None

    @property
    def stragglers(self) -> list[int]:
        return [rank.rank for rank in self.ranks if rank.is_straggler]

    def curve(self, name: str) -> Curve | None:
        """Return a curve; None where no rank has the metric."""
        return next((curve for curve in self.curves if curve.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "rate": self.rate,
            "curves": [plain_data(dataclasses.asdict(curve)) for curve in self.curves],
            "ranks": [plain_data(dataclasses.asdict(rank)) for rank in self.ranks],
            "stragglers": self.stragglers,
        }


def reduce(ranks: Sequence[RankMetrics], world_size: int, nodes: Mapping[int, str], drawn: int) -> TrainingMetrics:
    """Return the metrics of a run with so many ranks.

    nodes has the node of each rank; drawn is how many stragglers have a curve.
    """
    ordered = [_in_order(rank) for rank in ranks]
    ends = _ends(ordered)
    rate = next((rank.rate for rank in ordered if rank.rate), None)
    summaries = with_scores(_summary(rank, nodes.get(rank.rank)) for rank in ordered)
    columns = {"loss": [rank.losses for rank in ordered], "step_s": [rank.step_times for rank in ordered]}
    if rate:
        columns[rate] = [rank.rates if rank.rate == rate else [] for rank in ordered]
    places = [[bisect_right(rank.steps, end) for end in ends] for rank in ordered]
    curves = [curve_of(name, ends, places, values) for name, values in columns.items()]
    slowest = sorted((rank for rank in summaries if rank.is_straggler), key=lambda rank: rank.score or 0.0)[:drawn]
    chosen = {
        rank.rank: curve_of("step_s", ends, [place], [known.step_times])
        for rank, known, place in zip(summaries, ordered, places, strict=True)
        if rank in slowest
    }
    missing = sorted({*range(world_size)} - {rank.rank for rank in ordered}) if ordered else []
    oddities = [*(oddity for rank in ordered for oddity in rank.oddities), *(Oddity("missing", n) for n in missing)]
    return TrainingMetrics([curve for curve in curves if curve.steps], summaries, remarks_of(oddities), chosen, rate)


def remarks_of(oddities: Iterable[Oddity]) -> list[Remark]:
    """Return what is odd, ranks with the same oddity together."""
    groups: dict[str, list[Oddity]] = {}
    for oddity in oddities:
        groups.setdefault(oddity.kind, []).append(oddity)
    return [
        Remark(kind, [oddity.rank for oddity in group], sum(oddity.count for oddity in group), group[0])
        for kind, group in groups.items()
    ]


def with_scores(summaries: Iterable[RankSummary]) -> list[RankSummary]:
    """Compare each rank with the fastest one that has made its steps, and mark the stragglers."""
    known = list(summaries)
    most = max((rank.lines for rank in known), default=0)
    fastest = min((rank.step_s for rank in known if rank.step_s and 2 * rank.lines > most), default=None)
    scores = [min(1.0, fastest / rank.step_s) if fastest and rank.step_s else None for rank in known]
    return [
        dataclasses.replace(rank, score=score, is_straggler=score is not None and score < STRAGGLER_SCORE)
        for rank, score in zip(known, scores, strict=True)
    ]


def _in_order(rank: RankMetrics) -> RankMetrics:
    """Return the lines in the order of their steps: a program that resumes does some again."""
    if all(first <= second for first, second in itertools.pairwise(rank.steps)):
        return rank
    order = sorted(range(len(rank.steps)), key=rank.steps.__getitem__)
    steps, losses, step_times, rates = (
        [column[place] for place in order] for column in (rank.steps, rank.losses, rank.step_times, rank.rates)
    )
    return dataclasses.replace(rank, steps=steps, losses=losses, step_times=step_times, rates=rates)


def _ends(ranks: Iterable[RankMetrics]) -> list[float]:
    """Return the last step of each point of a curve."""
    steps: list[float] = sorted(set[float]().union(*(rank.steps for rank in ranks)))
    count = min(len(steps), MOST_POINTS)
    return [steps[len(steps) * (index + 1) // count - 1] for index in range(count)]


def curve_of(
    name: str, ends: Sequence[float], places: Sequence[Sequence[int]], columns: Sequence[Sequence[float]]
) -> Curve:
    """Return a curve without the points at which no rank has a value; places are those of its points in each column."""
    points = []
    for index, end in enumerate(ends):
        known = []
        for place, column in zip(places, columns, strict=True):
            values = column[place[index - 1] if index else 0 : place[index]]
            if finite := [value for value in values if not math.isnan(value)]:
                known.append((statistics.fmean(finite), min(finite), max(finite)))
        if known:
            means, lows, highs = zip(*known, strict=True)
            points.append((end, statistics.median(means), min(lows), max(highs)))
    return (
        Curve(name, *(list(values) for values in zip(*points, strict=True))) if points else Curve(name, [], [], [], [])
    )


def _summary(rank: RankMetrics, node: str | None) -> RankSummary:
    losses = [value for value in rank.losses if not math.isnan(value)]
    times = sorted(value for value in rank.step_times if not math.isnan(value))
    is_enough = len(times) >= FEWEST_TIMES
    return RankSummary(
        rank=rank.rank,
        node=node,
        lines=len(rank.steps),
        last_step=rank.steps[-1] if rank.steps else None,
        first_loss=losses[0] if losses else None,
        last_loss=losses[-1] if losses else None,
        step_s=statistics.median(times) if is_enough else None,
        step_s_p95=times[int(0.95 * (len(times) - 1))] if is_enough else None,
    )


def plain_data(value: Any) -> Any:
    if isinstance(value, float):
        return short(value)
    if isinstance(value, dict):
        return {name: plain_data(item) for name, item in value.items()}
    return [plain_data(item) for item in value] if isinstance(value, (list, tuple)) else value


def short(value: float) -> float:
    """Return a number as it is written to a file: a whole one without a point, another one with few digits."""
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
