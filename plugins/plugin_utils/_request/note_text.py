# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a note, which stands in one line of a list."""

from __future__ import annotations

LONGEST = 1000
EXPECTED = f"a text of 1 to {LONGEST} characters in one line, without control characters"


def check(text: str) -> str:
    """Return a text in one line unchanged; raise ValueError if it is empty or too long."""
    if not text.strip() or len(text) > LONGEST:
        raise ValueError
    return text
