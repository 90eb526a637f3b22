# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A regular expression that a user gives."""

from __future__ import annotations

import re
import warnings

LONGEST = 200


def refusal(text: str) -> str | None:
    """Return why a text is not a pattern that Python's re takes; None if it is."""
    if not 0 < len(text) <= LONGEST:
        return f"it has {len(text)} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a future Python may read otherwise
            re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None
