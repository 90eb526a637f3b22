# SPDX-License-Identifier: GPL-3.0-or-later
"""A limit of memory as users write it, in bytes, and in words."""

from __future__ import annotations

import re
from typing import Any

UNLIMITED = -1
EXPECTED = "unlimited or a size in whole KiB, such as 64GiB"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LIMIT = re.compile(r"([0-9]{1,15})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_limit(value: Any) -> int:
    """Return a limit in bytes, -1 for unlimited. Raise ValueError for what is not a limit."""
    text = "" if isinstance(value, bool) else str(value).strip()
    if text.lower() in ("unlimited", "infinity", "-1"):
        return UNLIMITED
    match = _LIMIT.fullmatch(text)
    size = int(match[1]) * _UNITS[match[2].upper()] if match else 0
    if size <= 0 or size % 1024:
        raise ValueError(f"memlock_limit {str(value)[:60]!r}: expected {EXPECTED}")
    return size


def say(size: int | None) -> str:
    """Return a limit in words."""
    if size is None:
        return "unknown"
    if size == UNLIMITED:
        return "unlimited"
    for unit in ("T", "G", "M", "K"):
        if size % _UNITS[unit] == 0 and size:
            return f"{size // _UNITS[unit]} {unit}iB"
    return f"{size} bytes"


def enough(limit: int | None, target: int) -> bool:
    """Return whether a limit is at least the target."""
    return limit is not None and (limit == UNLIMITED or (target != UNLIMITED and limit >= target))
