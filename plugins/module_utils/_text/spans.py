# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

SPAN = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


def spans(numbers: Iterable[int]) -> str:
    """Return ``0-3, 6``: sorted numbers, those that follow one another as one span."""
    parts: list[list[int]] = []
    for value in sorted(set(numbers)):
        if parts and parts[-1][1] == value - 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def read_spans(text: str) -> list[range]:
    """Return the spans of ``0-3,6``; raise ValueError where one is not a number, or ends before it begins."""
    ranges = []
    for part in text.split(","):
        match = SPAN.fullmatch(part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers:
            raise ValueError
        ranges.append(numbers)
    return ranges
