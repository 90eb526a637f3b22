# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for a terminal: a table in aligned columns, and strings from hosts made harmless.

Own code on purpose: it is shorter than the wiring of rich or tabulate, which plain ansible-core does not bring along.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._text.order import natural
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .ranges import fold

GAP = "  "
# What is left for the last column, however wide the others are.
LAST_COLUMN_MINIMUM = 24


def one_line(text: object, limit: int = 240) -> str:
    """Return text cleaned, with its runs of blanks collapsed, and cut to `limit` signs."""
    words = " ".join(clean(text).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def names(things: Sequence[str], most: int = 8) -> str:
    """Name some things: all of a few, the first of many."""
    others = len(things) - most
    return _listed([*things[:most], *([f"{others} more"] if others > 0 else [])])


def node_names(nodes: Sequence[str], most: int = 8) -> str:
    """Name nodes in natural order: a few of them singly, more as ranges such as n[001-126], the first of many."""
    nodes = sorted(nodes, key=natural)
    if len(nodes) <= most:
        return _listed(nodes)
    ranges = list(fold(nodes).items())
    others = sum(len(members) for _text, members in ranges[most:])
    return _listed([*(text for text, _members in ranges[:most]), *([f"{others} more"] if others else [])])


def _listed(words: Sequence[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])


def aligned(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line ``  title: text`` for each pair, the texts below each other."""
    cleaned = [(f"{clean(title)}:", clean(text)) for title, text in pairs]
    size = max((len(title) for title, _column in cleaned), default=0)
    return [f"  {title:<{size}} {text}" for title, text in cleaned]


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table: a column that is empty in every row is left out, the last is wrapped to `width`."""
    cells = [[clean(cell) for cell in row] for row in rows]
    kept = [index for index in range(len(headers)) if any(row[index] for row in cells)]
    cells = [[headers[index] for index in kept], *([row[index] for index in kept] for row in cells)]
    if not kept:
        return []
    widths = [max(len(row[column]) for row in cells) for column in range(len(kept) - 1)]
    before = sum(widths) + len(GAP) * len(widths)
    room = max(LAST_COLUMN_MINIMUM, width - before)
    lines = []
    for row in cells:
        start = "".join(cell.ljust(size) + GAP for cell, size in zip(row[:-1], widths, strict=True))
        for part in textwrap.wrap(row[-1], room) or [""]:
            lines.append((start + part).rstrip())
            start = " " * before
    return lines
