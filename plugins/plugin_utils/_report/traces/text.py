# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with traces, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._page.page import count
from .trace import DAMAGED, EMPTY, FOREIGN, TOO_LARGE, TraceSummary

MOST_NAMED = 3
TEXTS = {
    DAMAGED: "is cut off or damaged: the table has what comes before",
    EMPTY: "is empty or cannot be unpacked",
    FOREIGN: "has no events of torch's profiler that compute or communicate",
    TOO_LARGE: "is too large to be read here",
}


def note_texts(traces: Iterable[TraceSummary]) -> list[str]:
    """Return what is wrong with traces, those with the same problem together."""
    groups: dict[str, list[str]] = {}
    for trace in traces:
        if trace.problem:
            groups.setdefault(trace.problem, []).append(trace.file)
    return [f"{_names(files)} {TEXTS[problem]}." for problem, files in groups.items()]


def _names(files: Sequence[str]) -> str:
    """Return the first files by name; each of them is the subject of the sentence."""
    if len(files) == 1:
        return f"The trace {files[0]}"
    more = len(files) - MOST_NAMED
    names = ", ".join(files[:MOST_NAMED])
    return f"Each of {count(len(files), 'trace')} ({names}{f' and {more} more' if more > 0 else ''})"
