# SPDX-License-Identifier: GPL-3.0-or-later
"""Who measures whom: rounds in which each node is in one pair at most."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

Pair = tuple[int, int]


def in_order(first: int, second: int) -> Pair:
    """Return two nodes as a pair, the lower one first."""
    return (first, second) if first < second else (second, first)


def circle(nodes: int) -> Iterator[list[Pair]]:
    """Yield rounds without end, each pair once in N-1 rounds of an even number of nodes, in N of an odd one.

    The circle method: one node stays, all others move on by one place around it. With an odd number of nodes the place
    that stays is empty, and the node opposite to it has no partner.
    """
    places = nodes + nodes % 2
    moving = places - 1
    for turn in itertools.count():
        around = [(turn + place) % moving for place in range(moving)]
        table = [(moving, around[0]), *zip(around[1 : places // 2], reversed(around[places // 2 :]))]
        yield [in_order(*pair) for pair in table if max(pair) < nodes]


def without(pairs: Iterable[Pair], nodes: Collection[int]) -> list[Pair]:
    """Return the pairs that have none of these nodes."""
    return [pair for pair in pairs if not {*pair} & {*nodes}]
