# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks for tests, in which pairs of nodes measure each other: noise, slow nodes, rails and links, and holes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ansible_collections.muster.train.plugins.module_utils._records.pairs import MEASURED, STALLED, PairSample
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.rounds import Pair
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.search import CulpritSearch

Place = tuple[int, ...]


@dataclass
class Network:
    """What pairs would measure: factors by node, (node, rail), rail or pair make a place slower; stalled places
    never work, and what `fails` says of a pair and a rail does not either.

    Noise is lognormal; one measurement in `often` has a tail of Pareto's distribution besides, as a busy switch makes.
    """

    nodes: int
    seed: int
    rails: int = 1
    bandwidth: Mapping[Place, float] = field(default_factory=dict)
    latency: Mapping[Place, float] = field(default_factory=dict)
    resent: Mapping[Place, float] = field(default_factory=dict)
    stalled: frozenset[Place] = frozenset()
    noise: float = 0.03
    often: float = 0.05
    rail_places: Mapping[tuple[int, int], float] = field(default_factory=dict)
    rail_factors: Mapping[int, float] = field(default_factory=dict)
    fails: Callable[[Pair, int], bool] = lambda _pair, _rail: False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def measure(self, number: int, pair: Pair, rail: int) -> PairSample:
        places: list[Place] = [(pair[0],), (pair[1],), pair]
        if self.stalled & {*places} or self.fails(pair, rail):
            return PairSample(number, *pair, rail, STALLED, why="nothing came for 5 s")
        slower = [max(factors.get(place, 1.0) for place in places) for factors in (self.bandwidth, self.latency)]
        slower[0] *= max(self.rail_places.get((node, rail), 1.0) for node in pair)
        slower[0] *= self.rail_factors.get(rail, 1.0)
        latency = 5e-6 * slower[1] * self._noise()
        bandwidth = 48e9 / slower[0] / self._noise()
        resent = max(self.resent.get(place, 0.0) for place in places) * self.random.uniform(0.6, 1.4)
        return PairSample(number, *pair, rail, MEASURED, latency, bandwidth, *((resent, 1448) if rail == 0 else ()))

    def _noise(self) -> float:
        tail = self.random.paretovariate(1.5) if self.random.random() < self.often else 1.0
        return math.exp(self.random.gauss(0, self.noise)) * tail


def searched(network: Network, rounds: int, tolerance: float = 0.2) -> CulpritSearch:
    """A whole search in such a network."""
    search = CulpritSearch(network.nodes, rounds, tolerance)
    for number, pairs in enumerate(search.rounds(), 1):
        assert len({node for pair in pairs for node in pair}) == 2 * len(pairs), "each node is busy once in a round"
        search.add(network.measure(number, pair, rail) for pair in pairs for rail in range(network.rails))
    return search
