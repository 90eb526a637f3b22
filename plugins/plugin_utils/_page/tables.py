# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of a page."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .width import text_width

PHONE = 376  # CSS pixels for content on a screen of 400
FONT, PADDING = 13, 14  # of a cell, as in style.css


@frozen
class Cell:
    """A cell; style is a class of the style sheet."""

    text: str
    style: str = ""


@frozen
class PageTable:
    """A table; the first cell of a row is its heading. Cells of a table that is `wrapped` take several lines."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    style: str = ""
    wrapped: bool = False

    @classmethod
    def of(
        cls, caption: str, headers: Sequence[str], rows: Sequence[Sequence[str]], wrapped: bool = False
    ) -> PageTable:
        """Return a table of plain texts, without columns that are empty in every row."""
        kept = [column for column in range(len(headers)) if any(row[column] for row in rows)]
        cells = [[Cell(row[column]) for column in kept] for row in rows]
        return cls(caption, [headers[column] for column in kept], cells, wrapped=wrapped)

    @property
    def wide(self) -> bool:
        """Whether it may have to be scrolled sideways on a phone."""
        if self.wrapped:
            return False
        columns = zip(self.headers, *([cell.text for cell in row] for row in self.rows), strict=True)
        return sum(max(text_width(text, FONT) for text in column) + PADDING for column in columns) > PHONE
