# SPDX-License-Identifier: GPL-3.0-or-later
"""Which name somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


def nearest(spelling: str, names: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Return the name most like a spelling, None if none scores at least cutoff, where 1 is identical.

    A mapping has the name of each spelling.
    """
    matches = difflib.get_close_matches(spelling, list(names), n=1, cutoff=cutoff)
    return next((names[match] if isinstance(names, Mapping) else match for match in matches), None)


def question(name: str | None) -> str:
    """Return the beginning of a remedy, empty without a name."""
    return f"did you mean '{name}'? " if name else ""
