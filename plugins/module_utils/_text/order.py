# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of names in facts and wherever they are shown, so both sides use it."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts mlx5_2 before mlx5_10."""
    # Digits are compared by length first, as numbers without being converted: int() has a limit.
    parts = _DIGITS.split(name)
    return [(len(part.lstrip("0")), part.lstrip("0")) if part[:1].isdigit() else (0, part) for part in parts]
