# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes, rails and links are slower than the others, by what pairs of nodes have measured.

A slow node makes all its pairs slow, a slow link one pair, and noise any pair now and then. Noise makes no pair fast,
so a node, a pair and a rail count as the value that a third of their measurements do not exceed: of a healthy node, two
partners of three may be slow. Deviations are compared with those of all nodes (median and MAD). What fails is not
compared: it works of all that is healthy (reach.py).
"""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..._records.frozen import frozen
from ..._records.pairs import (
    BANDWIDTH,
    LATENCY,
    LINK,
    MEASURED,
    METRICS,
    MTU,
    NODE,
    RAIL,
    REACH,
    RESENT,
    PairSample,
    low,
)
from .reach import blamed
from .rounds import Pair

# A MAD times this is the standard deviation of a normal distribution; a median's is 1.25 of a mean's.
MAD, MEDIAN = 1.4826, 1.25
# How often one of all healthy places may be a suspect, who is then measured again, where noise is normal. Its tails are
# heavier.
FALSE_SUSPECTS = 0.001
# SuspiciousPlaces from which a MAD can be told. Fewer are measured more than once, which shows the noise.
FEW = 8
# Segments sent again: three in a thousand more than the others do. MTU: what differs by more than the options of TCP.
LEAST_RESENT, LEAST_MTU = 0.003, math.log(1.05)
# Rails from which one can be told that is slow on all nodes.
FEWEST_RAILS = 3
# How often a suspect is measured again. Noise of one measurement in ten leaves one in a thousand. A node that fails
# only now and then works seven times in a row in one of twelve cases if it fails in three of ten.
REPEATS, REPEATS_OF_REACH = 3, 8
_FAILED = 0.5
_LEAST = {MTU: LEAST_MTU, RESENT: LEAST_RESENT}
# What concerns all nodes.
EVERYWHERE: tuple[int, ...] = ()
COMPARED = tuple(metric for metric in METRICS if metric != REACH)
Values = Mapping[Pair, Sequence[float]]
Scores = Mapping[tuple[int, ...], Sequence[float]]
# What is suspicious, by place and rail.
SuspiciousPlaces = dict[tuple[int, ...], dict[int, list["Suspicion"]]]


@frozen
class Suspicion:
    """A metric in which something is slow: a slowness above limit counts as slow; typical is that of the others."""

    metric: str
    limit: float
    typical: float


@frozen
class Suspect:
    """A node, a rail of one or of all (no nodes), or a link, with all that is suspicious of it."""

    kind: str
    nodes: tuple[int, ...]
    rail: int | None
    suspicions: list[Suspicion]

    def is_suspicious_in(self, metric: str) -> bool:
        return any(suspicion.metric == metric for suspicion in self.suspicions)


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
    by_rail: dict[int, list[PairSample]] = {}
    for sample in samples:
        by_rail.setdefault(sample.rail, []).append(sample)
    places: SuspiciousPlaces = {}
    _suspect_reach(by_rail, places)
    values = {
        (rail, metric): pairs
        for rail, known in sorted(by_rail.items())
        for metric in COMPARED
        if (pairs := _values_of(known, metric))
    }
    for metric in (BANDWIDTH, LATENCY):
        _suspect_rails(metric, {rail: pairs for (rail, of), pairs in values.items() if of == metric}, tolerance, places)
    for (rail, metric), pairs in values.items():
        limits = (_noise(pairs.values()), _LEAST.get(metric, math.log1p(tolerance)), len(values))
        slow = [*_outliers(metric, _nodes(pairs), *limits)]
        suspicious = {node for place, _suspicion in slow for node in place}
        # A link is suspicious by itself only between nodes that are not.
        links: Scores = {pair: known for pair, known in pairs.items() if not {*pair} & suspicious}
        for place, suspicion in (*slow, *_outliers(metric, links, *limits)):
            places.setdefault(place, {}).setdefault(rail, []).append(suspicion)
    return [suspect for place, of in places.items() for suspect in _suspects(place, of, len(by_rail))]


def confirmed(suspect: Suspect, again: Sequence[PairSample]) -> list[Suspicion]:
    """Return in what a suspect was slow again, in every round; all rails together, where all are suspicious.

    It suffices that a node failed once more, and that a link failed in half of the rounds.
    """
    bad = []
    for suspicion in suspect.suspicions:
        rounds: dict[int, list[float]] = {}
        for sample in again:
            if (known := slowness(sample, suspicion.metric)) is not None:
                rounds.setdefault(sample.round, []).append(known)
        scores = [statistics.median(known) for known in rounds.values()]
        if suspicion.metric == REACH and len(suspect.nodes) == 1:
            is_bad = any(sample.outcome != MEASURED for sample in again)
        elif suspicion.metric == REACH and suspect.nodes:
            is_bad = bool(scores) and statistics.mean(score > suspicion.limit for score in scores) >= _FAILED
        else:
            is_bad = bool(scores) and min(scores) > suspicion.limit
        if is_bad:
            bad.append(suspicion)
    return bad


def rounds_needed(suspect: Suspect, again: Sequence[PairSample]) -> int:
    """Return how many rounds have to measure a suspect again, by those that have."""
    is_bad = bool(confirmed(suspect, again))
    if suspect.is_suspicious_in(REACH):
        return REPEATS if is_bad or len(suspect.nodes) != 1 else REPEATS_OF_REACH
    return REPEATS if is_bad else 1


def _suspect_reach(by_rail: Mapping[int, Sequence[PairSample]], places: SuspiciousPlaces) -> None:
    """Suspect what explains the failures of each rail; a rail that is broken on most nodes is suspicious by itself."""
    explained = {rail: blamed(samples) for rail, samples in by_rail.items()}
    nodes = {node for samples in by_rail.values() for sample in samples for node in sample.pair}
    rails_of = collections.Counter(node for broken, _links in explained.values() for node in broken)
    whole = {node for node, count in rails_of.items() if 2 * count > len(by_rail)}
    for rail, (broken, links) in sorted(explained.items()):
        few = {*broken} - whole
        if len(by_rail) > 1 and len(nodes) > 2 and 2 * len(few) > len(nodes - whole):
            places.setdefault(EVERYWHERE, {})[rail] = [Suspicion(REACH, _FAILED, 0.0)]
            broken, links = [node for node in broken if node in whole], []
        for place in (*((node,) for node in broken), *links):
            places.setdefault(place, {})[rail] = [Suspicion(REACH, _FAILED, 0.0)]


def _suspect_rails(metric: str, rails: Mapping[int, Values], tolerance: float, places: SuspiciousPlaces) -> None:
    """Suspect the rails that are slower than the others on all nodes."""
    if len(rails) < FEWEST_RAILS:
        return
    scores: Scores = {
        (rail,): [score for of in _by_node(pairs).values() if (score := low(of)) is not None]
        for rail, pairs in rails.items()
    }
    for (rail,), suspicion in _outliers(metric, scores, 0.0, math.log1p(tolerance), len(METRICS)):
        places.setdefault(EVERYWHERE, {}).setdefault(rail, []).append(suspicion)


def _values_of(samples: Iterable[PairSample], metric: str) -> dict[Pair, list[float]]:
    values: dict[Pair, list[float]] = {}
    for sample in samples:
        slow = slowness(sample, metric)
        if slow is not None:
            values.setdefault(sample.pair, []).append(slow)
    return values


def _nodes(pairs: Values) -> Scores:
    """Return the values of each node; of two nodes none, as each has only the other one's."""
    of_nodes = _by_node(pairs)
    return of_nodes if len(of_nodes) > 2 else {}


def _by_node(pairs: Values) -> Scores:
    of_nodes: dict[tuple[int, ...], list[float]] = {}
    for pair, known in pairs.items():
        for node in pair:
            of_nodes.setdefault((node,), []).extend(known)
    return of_nodes


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
    metric: str, places: Scores, noise: float, least: float, others: int
) -> Iterator[tuple[tuple[int, ...], Suspicion]]:
    """Yield the places that are slower than the others by more than noise, their spread and the least.

    others says among how many rails and metrics outliers are looked for, as each has its own by chance.
    """
    scores = {place: score for place, known in places.items() if (score := low(known)) is not None}
    if not scores:
        return
    typical = statistics.median_low(scores.values())
    spread = MAD * statistics.median(abs(score - typical) for score in scores.values()) if len(scores) >= FEW else 0.0
    far = statistics.NormalDist().inv_cdf(1 - FALSE_SUSPECTS / (len(scores) * others))
    for place, score in scores.items():
        limit = typical + max(least, far * spread, far * MEDIAN * noise / math.sqrt(len(places[place])))
        if score > limit:
            yield place, Suspicion(metric, limit, typical)


def _suspects(place: tuple[int, ...], by_rail: Mapping[int, list[Suspicion]], rails: int) -> list[Suspect]:
    """Return what is suspicious at a place: it as a whole, if most of its rails are, or else each of these rails."""
    if place == EVERYWHERE:
        return [Suspect(RAIL, place, rail, known) for rail, known in sorted(by_rail.items())]
    kind = LINK if len(place) > 1 else NODE
    # What only the first rail measures, by TCP, concerns the node.
    of_node = [suspicion for known in by_rail.values() for suspicion in known if suspicion.metric in _LEAST]
    of_rails = {
        rail: rest
        for rail, known in sorted(by_rail.items())
        if (rest := [item for item in known if item not in of_node])
    }
    if 2 * len(of_rails) > rails:
        of_node += [suspicion for known in of_rails.values() for suspicion in known]
        of_rails = {}
    worst = {suspicion.metric: suspicion for suspicion in of_node}
    whole = [Suspect(kind, place, None, [worst[metric] for metric in METRICS if metric in worst])] if worst else []
    return whole + [Suspect(LINK if kind == LINK else RAIL, place, rail, known) for rail, known in of_rails.items()]
