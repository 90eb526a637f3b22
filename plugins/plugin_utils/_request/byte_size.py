# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes in bytes, as a person writes them: 8, 64K, 2G or 2GiB; the units are powers of 1024."""

from __future__ import annotations

import re

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZE = re.compile(r"([0-9]{1,12})(?:([KMG])(?:iB)?)?")


def read_size(text: str, least: int, most: int) -> int:
    """Return a size in bytes, or raise ValueError."""
    match = SIZE.fullmatch(text)
    size = int(match[1]) * UNITS[match[2] or ""] if match else -1
    if not least <= size <= most:
        raise ValueError
    return size


def expected(least: int, most: int) -> str:
    """Describe the sizes that are taken."""
    return (
        f"bytes (8) or a number with K, M or G (64M, in powers of 1024), from {size_text(least)} to {size_text(most)}"
    )


def size_text(size: int) -> str:
    """Return a size as a person writes it, in the largest unit in which it is a whole number: `64 KiB`, `1000 B`."""
    unit = next((unit for unit in reversed(UNITS) if unit and size and size % UNITS[unit] == 0), "")
    return f"{size // UNITS[unit]} {unit}{'iB' if unit else 'B'}"
