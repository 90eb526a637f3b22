# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fields of records, plans and findings are text for people, and the same data without them."""

from __future__ import annotations

from typing import Any

# The fields that are for people, of every dataclass, and those that are for people in some.
TEXTS = {"observed", "remedy", "reason", "why", "problem", "write_error", "starter_reason", "oom_detail"}
TEXTS_OF = {
    "Finding": {"expected", "source"},
    "Outcome": {"expected", "source"},
    "NcclFinding": {"expected"},
    "Origin": {"label"},
    "Variable": {"origin"},
    "Remedy": {"parts"},
}
# What of a plan and of a finding is text.
WORDS = {*TEXTS, "expected", "source", "origin", "nproc_reason", "port_reason"}


def without_words(data: Any) -> Any:
    """Leave the text out of plain data."""
    if isinstance(data, dict):
        return {key: without_words(value) for key, value in data.items() if key not in WORDS}
    return [without_words(item) for item in data] if isinstance(data, list) else data
