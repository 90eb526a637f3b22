# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for what is slow, without clock or network: it says who measures whom, and learns what came of it.

First all nodes measure others, in rounds of the circle method. Then suspects are measured again, with partners that are
not suspicious; who is fast once is acquitted, and only who is slow every time is named.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from ..._records.pairs import (
    LINK,
    MEASURED,
    METRICS,
    Culprit,
    Deviation,
    PairSample,
)
from .judgment import Suspect, confirmed, judge, slowness, value_of
from .rounds import Pair, circle, in_order, without

# How often a suspect is measured again. Noise of one measurement in ten leaves one in a thousand.
REPEATS = 3
# Suspicious links may share a node; what is not measured again after so many rounds is not named.
MOST_ROUNDS_AGAIN = 4 * REPEATS
# A node that failed with so many partners, and never succeeded, is left out of the next rounds.
HOPELESS = 2
ALONE = "two nodes measure the same: a third one would show which of them is slow"
NOTHING = "no pair of nodes worked"


class CulpritSearch:
    """The state of a search among so many nodes, with so many rounds before the suspects are known."""

    def __init__(self, nodes: int, rounds: int, tolerance: float) -> None:
        self.nodes, self.tolerance = nodes, tolerance
        self.samples: list[PairSample] = []
        self.culprits: list[Culprit] = []
        self.reason = ""
        self.scan_rounds = rounds
        # What was measured again, by node and by pair.
        self._again: dict[tuple[int, ...], list[PairSample]] = {}
        self._suspects: list[Suspect] = []

    def rounds(self) -> Iterator[list[Pair]]:
        """Yield the pairs of each round; before the next one, `add` gets what they have measured."""
        for _round, pairs in zip(range(self.scan_rounds), circle(self.nodes)):
            yield without(pairs, self._hopeless())
        self._suspects, scanned = judge(self.samples, self.tolerance), len(self.samples)
        for turn in range(MOST_ROUNDS_AGAIN):
            pairs = self._pairs_again(turn)
            if not pairs:
                break
            yield pairs
            for sample in self.samples[scanned:]:
                for place in ((sample.first,), (sample.second,), sample.pair):
                    self._again.setdefault(place, []).append(sample)
            scanned = len(self.samples)
        self._conclude()

    def add(self, samples: Iterable[PairSample]) -> None:
        """Learn what the pairs of a round have measured."""
        self.samples += samples

    def _hopeless(self) -> set[int]:
        """Return the nodes with which nothing has worked so far."""
        failed: dict[int, set[int]] = {}
        for sample in self.samples:
            for node, partner in (sample.pair, reversed(sample.pair)):
                failed.setdefault(node, set())
                if sample.outcome != MEASURED:
                    failed[node].add(partner)
        worked = {node for sample in self.samples if sample.outcome == MEASURED for node in sample.pair}
        return {node for node, partners in failed.items() if len(partners) >= HOPELESS and node not in worked}

    def _pairs_again(self, turn: int) -> list[Pair]:
        """Return pairs for the suspects that are still slow and not yet measured often enough."""
        open_suspects = [
            suspect
            for suspect in self._suspects
            if not (again := self._measured(suspect)) or (_rounds(again) < REPEATS and confirmed(suspect, again))
        ]
        suspicious = {node for suspect in self._suspects for node in suspect.nodes if suspect.kind != LINK}
        healthy = [node for node in range(self.nodes) if node not in suspicious]
        healthy = healthy[turn % max(1, len(healthy)) :] + healthy[: turn % max(1, len(healthy))]
        busy: set[int] = set()
        pairs = []
        for suspect in open_suspects:
            first, *second = suspect.nodes
            partners = second or [node for node in healthy if node not in busy]
            if first in busy or not partners or partners[0] in busy:
                continue
            pairs.append(in_order(first, partners[0]))
            busy |= {*pairs[-1]}
        return pairs

    def _measured(self, suspect: Suspect) -> list[PairSample]:
        """Return what was measured again of a suspect."""
        known = self._again.get(suspect.nodes, [])
        return known if suspect.rail is None else [sample for sample in known if sample.rail == suspect.rail]

    def _conclude(self) -> None:
        named = [culprit for suspect in self._suspects if (culprit := self._culprit(suspect)) is not None]
        if self.samples and all(sample.outcome != MEASURED for sample in self.samples):
            self.reason = NOTHING
        elif self.nodes < 3:
            self.reason = ALONE
        named.sort(key=lambda culprit: (METRICS.index(culprit.deviations[0].metric), culprit.nodes))
        # Of nodes that are all broken none is the one; between two nodes it is the link.
        self.culprits = named if self.reason != NOTHING or self.nodes < 3 else []

    def _culprit(self, suspect: Suspect) -> Culprit | None:
        again = self._measured(suspect)
        slow = confirmed(suspect, again)
        if not slow or _rounds(again) < REPEATS:
            return None
        deviations = [
            Deviation(
                item.metric,
                value_of(item.metric, _middle(again, item.metric)),
                value_of(item.metric, item.typical),
            )
            for item in slow
        ]
        why = next((sample.why for sample in again if sample.why), "")
        return Culprit(suspect.kind, [*suspect.nodes], suspect.rail, deviations, _rounds(again), why)


def _rounds(samples: Iterable[PairSample]) -> int:
    return len({sample.round for sample in samples})


def _middle(samples: Iterable[PairSample], metric: str) -> float:
    return statistics.median(known for sample in samples if (known := slowness(sample, metric)) is not None)
