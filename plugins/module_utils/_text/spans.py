# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in one line."""

from __future__ import annotations

from collections.abc import Iterable


def spans(numbers: Iterable[int]) -> str:
    """Return ``0-3, 6``: sorted numbers, those that follow one another as one span."""
    parts: list[list[int]] = []
    for value in sorted(set(numbers)):
        if parts and parts[-1][1] == value - 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
