# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of some values of runs, as `list` has them."""

from __future__ import annotations

import re

from .conditions import NAME

MOST = 4
EXPECTED = f"1 to {MOST} different names, with commas between them, such as channels,env.NCCL_PROTO"


def read_names(raw: object) -> list[str]:
    """Return the names of a text or a list in their order; raise ValueError if one is not valid, or there twice."""
    names = [text.strip() for text in raw.split(",")] if isinstance(raw, str) else raw
    if not isinstance(names, list) or not 1 <= len(names) <= MOST:
        raise ValueError
    if not all(isinstance(name, str) and re.fullmatch(NAME, name) for name in names) or len({*names}) < len(names):
        raise ValueError
    return names
