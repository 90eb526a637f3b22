# SPDX-License-Identifier: GPL-3.0-or-later
"""Host names as ranges: n001, n002, n004 is n[001-002,004], which `-e nodes=` of discover reads back."""

from __future__ import annotations

import re
from collections.abc import Iterable

NUMBER = re.compile(r"([0-9]+)")
# Names with other signs, and numbers longer than a range may have, stay as they are.
PLAIN = re.compile(r"(?:[A-Za-z._-]|[0-9]{1,9}(?![0-9]))+")

# The parts of a name, its numbers at the odd places, and the names that are folded into it.
Pieces = dict[tuple[str, ...], list[str]]


def fold(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names, each once, by range: those that differ in a number share one, in the order of their first."""
    pieces = {tuple(NUMBER.split(name)) if PLAIN.fullmatch(name) else (name,): [name] for name in names}
    # The last number that differs is folded first; a range is then a text like any other.
    for place in range(max(map(len, pieces), default=0) - 2, 0, -2):
        pieces = _fold_place(pieces, place)
    return {"".join(piece): members for piece, members in pieces.items()}


def _fold_place(pieces: Pieces, place: int) -> Pieces:
    """Make one of the names that are the same but for the number at this place."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], Pieces] = {}
    for piece, members in pieces.items():
        alike.setdefault((piece[:place], piece[place + 1 :]), {})[piece[place : place + 1]] = members
    folded: Pieces = {}
    for (before, after), numbers in alike.items():
        members = [name for group in numbers.values() for name in group]
        folded[(*before, *_range([text for number in numbers for text in number]), *after)] = members
    return folded


def _range(numbers: list[str]) -> list[str]:
    """Return `[001-003,007]` for numbers; one number or none as it is."""
    if len(numbers) < 2:
        return numbers
    spans: list[list[str]] = []
    for number in sorted(numbers, key=lambda text: (int(text), len(text))):
        if spans and _next(spans[-1]) == number:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [f"[{','.join(first if first == last else f'{first}-{last}' for first, last in spans)}]"]


def _next(span: list[str]) -> str:
    """Return the number that would continue a span, as wide as its first number."""
    return str(int(span[1]) + 1).zfill(len(span[0]))
