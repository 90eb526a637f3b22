# SPDX-License-Identifier: GPL-3.0-or-later
"""Times in which something happened, of which many may overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]
# So many are kept before those that overlap become one.
MOST = 50_000


class Intervals:
    """The union of intervals, with bounded memory as long as they overlap or follow one another."""

    def __init__(self) -> None:
        self._parts: list[Interval] = []
        self._limit = MOST

    def add(self, begin: float, end: float) -> None:
        """Add an interval."""
        self._parts.append((begin, end))
        if len(self._parts) > self._limit:
            self._parts = merge(self._parts)
            self._limit = max(MOST, 2 * len(self._parts))

    def union(self) -> list[Interval]:
        """Return them in order, none of which overlaps another."""
        self._parts = merge(self._parts)
        return self._parts


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of intervals in order."""
    parts: list[Interval] = []
    for begin, end in sorted(intervals):
        if parts and begin <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(parts[-1][1], end)
        else:
            parts.append((begin, end))
    return parts


def length(union: Sequence[Interval]) -> float:
    """Return how long a union is."""
    return sum(end - begin for begin, end in union)


def overlap(one: Sequence[Interval], other: Sequence[Interval]) -> float:
    """Return for how long two unions overlap."""
    return length(one) + length(other) - length(merge([*one, *other]))
