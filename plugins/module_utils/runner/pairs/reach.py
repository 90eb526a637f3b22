# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes do not reach others: groups that are apart, and the fewest nodes and links that explain what failed.

A measurement that failed accuses both of its nodes. A node is to blame if it failed with more than one partner; the
one that failed with most is blamed first, and what it explains accuses no other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..._records.pairs import MEASURED, PairSample
from .rounds import Pair, in_order

# A node is blamed for failures with so many partners; fewer are those of a link.
LEAST_PARTNERS = 2
# How far the numbers of two nodes may be apart that look for a way between their groups.
FARTHEST = 64


def groups_of(samples: Iterable[PairSample]) -> list[set[int]]:
    """Return the groups of nodes that reach each other; of one that reaches none it is alone."""
    group_of: dict[int, set[int]] = {}
    for sample in samples:
        smaller, larger = sorted((group_of.setdefault(node, {node}) for node in sample.pair), key=len)
        if sample.outcome == MEASURED and smaller is not larger:
            larger |= smaller
            group_of.update(dict.fromkeys(smaller, larger))
    return list({id(group): group for group in group_of.values()}.values())


def groups_apart(samples: Sequence[PairSample]) -> list[list[int]]:
    """Return the groups that tried to reach others in vain; a node that reaches none is none: it is broken."""
    groups = [group for group in groups_of(samples) if len(group) > 1]
    place_of = {node: place for place, group in enumerate(groups) for node in group}
    failed = {sample.pair for sample in samples if sample.outcome != MEASURED}
    apart = {place_of[node] for pair in failed if are_apart(pair, place_of) for node in pair}
    return sorted(sorted(groups[place]) for place in apart)


def are_apart(pair: Pair, group_of: Mapping[int, int]) -> bool:
    """Return whether the nodes of a pair are in two groups."""
    return pair[0] in group_of and pair[1] in group_of and group_of[pair[0]] != group_of[pair[1]]


def blamed(samples: Sequence[PairSample]) -> tuple[list[int], list[Pair]]:
    """Return the nodes, and the links between other nodes, that explain what failed on one rail."""
    partners: dict[int, set[int]] = {}
    inbound: dict[int, int] = {}
    pairs = []
    for sample in samples:
        if sample.outcome != MEASURED:
            pairs.append(sample.pair)
            for node, partner in (sample.pair, sample.pair[::-1]):
                partners.setdefault(node, set()).add(partner)
            if sample.towards is not None:
                inbound[sample.towards] = inbound.get(sample.towards, 0) + 1
    nodes: list[int] = []
    while partners:
        # Where two nodes failed with as many, the one that others could not connect to.
        worst = max(partners, key=lambda node: (len(partners[node]), inbound.get(node, 0), -node))
        if len(partners[worst]) < LEAST_PARTNERS:
            break
        nodes.append(worst)
        for partner in partners.pop(worst):
            partners[partner].discard(worst)
    return nodes, list(dict.fromkeys(pair for pair in pairs if not {*pair} & {*nodes}))


def hopeless(samples: Iterable[PairSample], least: int) -> set[int]:
    """Return the nodes that reach none, though so many of those that they failed with reach others."""
    failed: dict[int, set[int]] = {}
    working: set[int] = set()
    for sample in samples:
        if sample.outcome == MEASURED:
            working |= {*sample.pair}
        else:
            for node, partner in (sample.pair, sample.pair[::-1]):
                failed.setdefault(node, set()).add(partner)
    return {node for node, partners in failed.items() if node not in working and len(partners & working) >= least}


def untried(nodes: Iterable[int], tried: Collection[Pair], group_of: Mapping[int, int]) -> list[Pair]:
    """Return pairs of nodes in different groups that were not measured, each node in one at most.

    Nodes of near numbers come first: they are often behind the same switch.
    """
    free, pairs = {*nodes}, []
    for node in sorted(free):
        if node not in free:
            continue
        near = (other for far in range(1, FARTHEST + 1) for other in (node + far, node - far) if other in free)
        for other in near:
            pair = in_order(node, other)
            if pair not in tried and group_of[node] != group_of[other]:
                pairs.append(pair)
                free -= {*pair}
                break
    return pairs
