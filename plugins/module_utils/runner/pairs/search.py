# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for what is slow, without clock or network: it says who measures whom, and learns what came of it.

First all nodes measure others, in rounds of the circle method. Groups that seem to be apart then try to reach each
other. At last suspects are measured again, with partners that are not suspicious; who is fast once is acquitted, and
only who is slow every time is named.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Iterator

from ..._records.pairs import LINK, MEASURED, METRICS, REACH, Culprit, Deviation, PairSample
from .judgment import EVERYWHERE, REPEATS, Suspect, confirmed, judge, rounds_needed, slowness, value_of
from .reach import are_apart, groups_apart, groups_of, hopeless, untried
from .rounds import Pair, circle, in_order, without

# Suspicious links may share a node; what is not measured again after so many rounds is not named. Groups have as many
# to reach each other.
MOST_ROUNDS_AGAIN = 12
# A node that failed with so many partners that work, and never succeeded, is measured with others like it only.
HOPELESS = 2
ALONE = "two nodes measure the same: a third one would show which of them is slow"
NOTHING = "no pair of nodes worked"


class CulpritSearch:
    """The state of a search among so many nodes, with so many rounds before the suspects are known."""

    def __init__(self, nodes: int, rounds: int, tolerance: float) -> None:
        self.nodes, self.tolerance = nodes, tolerance
        self.samples: list[PairSample] = []
        self.culprits: list[Culprit] = []
        self.groups: list[list[int]] = []
        self.unnamed = self.unmeasured = 0
        self.reason = ""
        self.scan_rounds = rounds
        # What was measured again, by node, by pair, and all of it.
        self._again: dict[tuple[int, ...], list[PairSample]] = {}
        self._suspects: list[Suspect] = []
        # The rails of a node that are suspicious, None for all, and the links that are.
        self._rails: dict[int, set[int | None]] = {}
        self._links: set[tuple[int, ...]] = set()
        self._group_of: dict[int, int] = {}
        self._round_of: dict[tuple[int, ...], int] = {}

    def rounds(self) -> Iterator[list[Pair]]:
        """Yield the pairs of each round; before the next one, `add` gets what they have measured."""
        for _round, pairs in zip(range(self.scan_rounds), circle(self.nodes)):
            lonely = hopeless(self.samples, HOPELESS)
            # They may reach each other, as behind a switch that is cut off.
            yield without(pairs, lonely) + self._untried(lonely)
        yield from self._rounds_between_groups()
        self._suspect()
        for turn, around in zip(range(MOST_ROUNDS_AGAIN), circle(self.nodes)):
            pairs, known = self._pairs_again(turn, around), len(self.samples)
            if not pairs:
                break
            yield pairs
            for sample in self.samples[known:]:
                for place in ((sample.first,), (sample.second,), sample.pair, EVERYWHERE):
                    self._again.setdefault(place, []).append(sample)
        self._conclude()

    def _rounds_between_groups(self) -> Iterator[list[Pair]]:
        """Yield rounds in which groups try to reach each other, until nothing has worked in so many."""
        in_vain = 0
        for _turn in range(MOST_ROUNDS_AGAIN):
            pairs, known = self._untried(range(self.nodes)) if groups_apart(self.samples) else [], len(self.samples)
            if not pairs or in_vain == REPEATS:
                break
            yield pairs
            in_vain = 0 if any(sample.outcome == MEASURED for sample in self.samples[known:]) else in_vain + 1

    def add(self, samples: Iterable[PairSample]) -> None:
        """Learn what the pairs of a round have measured."""
        self.samples += samples

    def _untried(self, nodes: Collection[int]) -> list[Pair]:
        """Return pairs of nodes of which it is not known that they reach each other, and which have not tried."""
        if not nodes:
            return []
        group_of = {node: place for place, group in enumerate(groups_of(self.samples)) for node in group}
        return untried(group_of.keys() & {*nodes}, {sample.pair for sample in self.samples}, group_of)

    def _suspect(self) -> None:
        """Learn whom to measure again; where nothing works there is none to do it with, but for a single link."""
        self.groups = groups_apart(self.samples)
        self._group_of = {node: place for place, group in enumerate(self.groups) for node in group}
        if self.nodes > 2 and not self._has_success():
            return
        self._round_of = {sample.pair: sample.round for sample in reversed(self.samples)}
        within = [item for item in self.samples if item.outcome == MEASURED or not are_apart(item.pair, self._group_of)]
        self._suspects = judge(within, self.tolerance)
        for suspect in self._suspects:
            if suspect.kind == LINK:
                self._links.add(suspect.nodes)
            elif suspect.nodes:
                self._rails.setdefault(suspect.nodes[0], set()).add(suspect.rail)

    def _has_success(self) -> bool:
        return any(sample.outcome == MEASURED for sample in self.samples)

    def _pairs_again(self, turn: int, around: Iterable[Pair]) -> list[Pair]:
        """Return pairs for the suspects that are not yet measured often enough."""
        left = [suspect for suspect in self._suspects if self._is_open(suspect)]
        busy: set[int] = set()
        pairs = []
        for suspect in sorted(left, key=self._urgency):
            if suspect.nodes and not busy & {*suspect.nodes}:
                pair = suspect.nodes if suspect.kind == LINK else self._with_partner(suspect, busy, turn)
                if pair:
                    pairs.append(in_order(*pair))
                    busy |= {*pair}
        return pairs + (without(around, busy) if any(not suspect.nodes for suspect in left) else [])

    def _urgency(self, suspect: Suspect) -> tuple[bool, int, int]:
        """Return what sorts suspects: links last, first those that were slow again, and those of one round together."""
        if suspect.kind != LINK:
            return False, 0, 0
        return True, -_rounds(self._measured(suspect)), self._round_of.get(suspect.nodes, 0)

    def _with_partner(self, suspect: Suspect, busy: set[int], turn: int) -> tuple[int, ...]:
        """Return a suspect and a node whose rail is healthy, or the least suspicious one; nothing if none is free."""
        node, start = suspect.nodes[0], turn % self.nodes
        free = [other for other in (*range(start, self.nodes), *range(start)) if other != node and other not in busy]
        partner = min(free, key=lambda other: self._doubts(suspect, other), default=None)
        return () if partner is None else (node, partner)

    def _doubts(self, suspect: Suspect, other: int) -> tuple[bool, int]:
        """Return how little another node proves of a suspect: whether it is unfit for it, and its other faults."""
        node, rails = suspect.nodes[0], self._rails.get(other, set())
        pair = in_order(node, other)
        is_useless = pair in self._links or are_apart(pair, self._group_of)
        return is_useless or bool({None, suspect.rail} & rails), len(rails)

    def _measured(self, suspect: Suspect) -> list[PairSample]:
        """Return what was measured again of a suspect, with partners that are not to blame, where there are any."""
        known = self._again.get(suspect.nodes, [])
        if suspect.rail is not None:
            known = [sample for sample in known if sample.rail == suspect.rail]
        if len(suspect.nodes) != 1:
            return known
        others = (other for other in range(self.nodes) if other not in suspect.nodes)
        if all(self._doubts(suspect, other)[0] for other in others):
            return known
        return [sample for sample in known if self._is_fair(suspect, sample)]

    def _is_fair(self, suspect: Suspect, sample: PairSample) -> bool:
        other = sum(sample.pair) - suspect.nodes[0]
        return not self._doubts(suspect, other)[0] and sample.rail not in self._rails.get(other, ())

    def _is_open(self, suspect: Suspect) -> bool:
        again = self._measured(suspect)
        return _rounds(again) < rounds_needed(suspect, again)

    def _conclude(self) -> None:
        culprits = [culprit for suspect in self._suspects if (culprit := self._culprit(suspect)) is not None]
        named = {(node, culprit.rail) for culprit in culprits if culprit.kind != LINK for node in culprit.nodes}
        # A slow node makes its links slow, too.
        self.culprits = [item for item in culprits if item.kind != LINK or not _is_part(item, named)]
        self.culprits.sort(key=lambda item: (METRICS.index(item.deviations[0].metric), item.nodes))
        self.unmeasured = sum(map(self._is_open, self._suspects))
        explained = {(tuple(culprit.nodes), culprit.rail) for culprit in self.culprits}
        explained |= {(suspect.nodes, suspect.rail) for suspect in self._suspects if self._is_acquitted(suspect)}
        failed = [sample for sample in self.samples if sample.outcome != MEASURED]
        self.unnamed = sum(not self._is_explained(sample, explained) for sample in failed)
        if not self._has_success():
            tried, links = len({sample.pair for sample in failed}), self.nodes * (self.nodes - 1) // 2
            self.reason = NOTHING if tried == links else f"none of the {tried} links that were tried worked"
        elif self.nodes < 3:
            self.reason = ALONE

    def _is_acquitted(self, suspect: Suspect) -> bool:
        again = self._measured(suspect)
        return not self._is_open(suspect) and all(sample.outcome == MEASURED for sample in again)

    def _is_explained(self, sample: PairSample, explained: Collection[tuple[tuple[int, ...], int | None]]) -> bool:
        """Return whether what failed is the fault of something that is named, or worked when it was measured again."""
        places = ((sample.first,), (sample.second,), sample.pair, EVERYWHERE)
        return are_apart(sample.pair, self._group_of) or any(
            (place, rail) in explained for place in places for rail in (sample.rail, None)
        )

    def _culprit(self, suspect: Suspect) -> Culprit | None:
        again = self._measured(suspect)
        slow = confirmed(suspect, again)
        if not slow or self._is_open(suspect):
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


def _is_part(link: Culprit, named: Collection[tuple[int, int | None]]) -> bool:
    """Return whether a slow link is one of a node that is named; what fails is more than slow."""
    is_broken = link.deviations[0].metric == REACH
    return not is_broken and any((node, rail) in named for node in link.nodes for rail in (link.rail, None))


def _rounds(samples: Iterable[PairSample]) -> int:
    return len({sample.round for sample in samples})


def _middle(samples: Iterable[PairSample], metric: str) -> float:
    """Return the median; of what fails now and then the mean."""
    values = [known for sample in samples if (known := slowness(sample, metric)) is not None]
    return statistics.mean(values) if metric == REACH else statistics.median(values)
