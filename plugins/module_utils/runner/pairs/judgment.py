# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes, rails and links are slower than the others, by what pairs of nodes have measured.

A slow node makes all its pairs slow, a slow link one pair, and noise any pair now and then. Noise makes no pair fast,
so a node, a pair and a rail count as the value that a third of their measurements do not exceed: of a healthy node, two
partners of three may be slow. Deviations are compared with those of all nodes (median and MAD).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ..._records.frozen import frozen
from ..._records.pairs import BANDWIDTH, LATENCY, LINK, MEASURED, METRICS, MTU, NODE, RAIL, REACH, RESENT, PairSample
from .rounds import Pair

# A MAD times this is the standard deviation of a normal distribution; a median's is 1.25 of a mean's.
MAD, MEDIAN = 1.4826, 1.25
# How often one of all healthy places may be a suspect, who is then measured again, where noise is normal. Its tails are
# heavier.
FALSE_SUSPECTS = 0.001
# Places from which a MAD can be told. Fewer are measured more than once, which shows the noise.
FEW = 8
# Segments sent again: three in a thousand more than the others do. MTU: what differs by more than the options of TCP.
LEAST_RESENT, LEAST_MTU = 0.003, math.log(1.05)
# Of the measurements of a healthy node all work.
LEAST_REACH = 0.5
_LEAST = {REACH: LEAST_REACH, MTU: LEAST_MTU, RESENT: LEAST_RESENT}
Values = Mapping[Pair, Sequence[float]]


@frozen
class Suspicion:
    """A metric in which something is slow: a slowness above limit counts as slow; typical is that of the others."""

    metric: str
    limit: float
    typical: float


@frozen
class Suspect:
    """A node, a rail of one, or a link, with all that is suspicious of it."""

    kind: str
    nodes: tuple[int, ...]
    rail: int | None
    suspicions: list[Suspicion]


def slowness(sample: PairSample, metric: str) -> float | None:
    """Return how slow a pair is, on a scale on which equal factors are equal steps; None where it was not measured."""
    if metric == REACH:
        return float(sample.outcome != MEASURED)
    if metric == RESENT:
        return sample.resent
    value, sign = {
        MTU: (sample.segment, -1),
        BANDWIDTH: (sample.bandwidth, -1),
        LATENCY: (sample.latency_s, 1),
    }[metric]
    return sign * math.log(value) if value else None


def value_of(metric: str, slow: float) -> float:
    """Return what has this slowness, in the unit of the metric; of reach the part that worked."""
    if metric == REACH:
        return 1 - slow
    return slow if metric == RESENT else math.exp(slow if metric == LATENCY else -slow)


def judge(samples: Sequence[PairSample], tolerance: float) -> list[Suspect]:
    """Return all suspects; tolerance is the part by which bandwidth and latency may be worse than the others'."""
    rails = sorted({sample.rail for sample in samples})
    values = {
        (rail, metric): _values_of([sample for sample in samples if sample.rail == rail], metric)
        for rail in rails
        for metric in METRICS
    }
    suspects: dict[tuple[int, ...], dict[int, list[Suspicion]]] = {}
    for of_pair in (False, True):
        # A link is suspicious by itself only between nodes that are not.
        known = {node for place in suspects for node in place}
        for (rail, metric), pairs in values.items():
            least = _LEAST.get(metric, math.log1p(tolerance))
            places = _links(pairs, known) if of_pair else _nodes(pairs)
            for place, suspicion in _outliers(metric, places, _noise(pairs.values()), least):
                suspects.setdefault(place, {}).setdefault(rail, []).append(suspicion)
    return [suspect for place, by_rail in suspects.items() for suspect in _suspects(place, by_rail, len(rails))]


def confirmed(suspect: Suspect, again: Sequence[PairSample]) -> list[Suspicion]:
    """Return in what a suspect was slow again, in every round; all rails together, where all are suspicious."""
    slow = []
    for suspicion in suspect.suspicions:
        rounds: dict[int, list[float]] = {}
        for sample in again:
            if (known := slowness(sample, suspicion.metric)) is not None:
                rounds.setdefault(sample.round, []).append(known)
        if rounds and min(map(statistics.median, rounds.values())) > suspicion.limit:
            slow.append(suspicion)
    return slow


def _values_of(samples: Iterable[PairSample], metric: str) -> dict[Pair, list[float]]:
    values: dict[Pair, list[float]] = {}
    for sample in samples:
        slow = slowness(sample, metric)
        if slow is not None:
            values.setdefault(sample.pair, []).append(slow)
    return values


def _nodes(pairs: Values) -> Mapping[tuple[int, ...], Sequence[float]]:
    """Return the values of each node; of two nodes none, as each has only the other one's."""
    of_nodes: dict[tuple[int, ...], list[float]] = {}
    for pair, known in pairs.items():
        for node in pair:
            of_nodes.setdefault((node,), []).extend(known)
    return of_nodes if len(of_nodes) > 2 else {}


def _links(pairs: Values, suspicious: Collection[int]) -> Mapping[tuple[int, ...], Sequence[float]]:
    """Return the values of each pair of nodes that are not suspicious."""
    return {pair: known for pair, known in pairs.items() if not {*pair} & {*suspicious}}


def _noise(values: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation of what was measured more than once; 0 where nothing was."""
    apart = [
        abs(value - statistics.median(known)) * math.sqrt(len(known) / (len(known) - 1))
        for known in values
        if len(known) > 1
        for value in known
    ]
    return MAD * statistics.median(apart) if apart else 0.0


def _outliers(
    metric: str, places: Mapping[tuple[int, ...], Sequence[float]], noise: float, least: float
) -> Iterator[tuple[tuple[int, ...], Suspicion]]:
    """Yield the places that are slower than the others by more than noise, their spread and the least."""
    scores = {place: score for place, known in places.items() if (score := low(known)) is not None}
    if not scores:
        return
    typical = 0.0 if metric == REACH else statistics.median_low(scores.values())
    has_spread = metric != REACH and len(scores) >= FEW
    spread = MAD * statistics.median(abs(score - typical) for score in scores.values()) if has_spread else 0.0
    far = statistics.NormalDist().inv_cdf(1 - FALSE_SUSPECTS / len(scores))
    for place, score in scores.items():
        limit = typical + max(least, far * spread, far * MEDIAN * noise / math.sqrt(len(places[place])))
        if score > limit:
            yield place, Suspicion(metric, limit, typical)


def _suspects(place: tuple[int, ...], by_rail: Mapping[int, list[Suspicion]], rails: int) -> list[Suspect]:
    """Return what is suspicious at a place: it as a whole, if most of its rails are, or else each of these rails."""
    kind = LINK if len(place) > 1 else NODE
    # What only the first rail measures, by TCP, concerns the node.
    whole = [suspicion for known in by_rail.values() for suspicion in known if suspicion.metric in (MTU, RESENT)]
    if whole or 2 * len(by_rail) > rails:
        worst = {suspicion.metric: suspicion for known in by_rail.values() for suspicion in known}
        return [Suspect(kind, place, None, [worst[metric] for metric in METRICS if metric in worst])]
    return [Suspect(LINK if kind == LINK else RAIL, place, rail, known) for rail, known in sorted(by_rail.items())]
