# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a line: its text with * for what varies. No regular expression: the time is linear in the line."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

ANYTHING = "*"


@frozen
class Pattern:
    """Texts that follow one another in a line, with anything between them.

    The pattern begins and ends at the edge of a word or number, so that `error 1` is not in `error 12`; a * there
    lifts that.
    """

    parts: tuple[bytes, ...]
    has_start: bool
    has_end: bool

    @classmethod
    def of(cls, text: str) -> Pattern:
        """Read a pattern; raise ValueError where it has no text."""
        parts = tuple(part.encode() for part in text.split(ANYTHING) if part)
        if not parts:
            raise ValueError(f"a pattern without text: {text!r}")
        return cls(parts, not text.startswith(ANYTHING), not text.endswith(ANYTHING))

    @property
    def size(self) -> int:
        """How much of a line it says: of two that match, the longer one says more."""
        return sum(map(len, self.parts))

    def matches(self, line: bytes) -> bool:
        """Return whether a line has the texts in this order."""
        at, last = 0, len(self.parts) - 1
        for index, part in enumerate(self.parts):
            at = line.find(part, at)
            while at >= 0 and (
                (self.has_start and index == 0 and _goes_on(line, at))
                or (self.has_end and index == last and _goes_on(line, at + len(part)))
            ):
                at = line.find(part, at + 1)
            if at < 0:
                return False
            at += len(part)
        return True


def _goes_on(line: bytes, at: int) -> bool:
    """Return whether a word or a number goes on at this place."""
    before, after = line[at - 1 : at] if at else b"", line[at : at + 1]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isdigit())
