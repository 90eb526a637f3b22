# SPDX-License-Identifier: GPL-3.0-or-later
"""A regular expression that a user gives."""

from __future__ import annotations

import re
import warnings

LONGEST = 200
EXPECTED = f"a regular expression of Python of at most {LONGEST} characters, such as 'loss|Error'"


def check(text: str, expected: str = EXPECTED) -> str:
    """Return the pattern unchanged, or raise ValueError with what was expected and the reason."""
    if not 0 < len(text) <= LONGEST:
        raise ValueError(f"{expected}, but it has {len(text)} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a future Python may read otherwise
            re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{expected}, but it does not compile ({error})") from None
    return text
