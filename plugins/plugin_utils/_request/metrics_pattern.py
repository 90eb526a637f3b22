# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own pattern by which progress is read from what a program prints."""

from __future__ import annotations

import re

from . import regex

# The runner takes these (`module_utils/runner/attempt/metrics/pattern.py`).
GROUPS = ("step", "total_steps", "loss", "tokens_per_s", "samples_per_s")
EXPECTED = (
    f"a regular expression with at least one of the named groups {', '.join(GROUPS)}, "
    r"such as step=(?P<step>\d+) loss=(?P<loss>\S+)"
)


def check(text: str) -> str:
    """Return the pattern unchanged, or raise ValueError with the reason."""
    names = re.compile(regex.check(text, EXPECTED)).groupindex
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise ValueError(f"{EXPECTED}, but the group {unknown[0]} is unknown")
    if not names:
        raise ValueError(EXPECTED)
    return text
