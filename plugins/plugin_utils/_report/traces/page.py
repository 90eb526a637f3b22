# SPDX-License-Identifier: GPL-3.0-or-later
"""The traces of a run on its page: a table with a row for each, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..._page.tables import PageTable
from ..._results.rows import number_text
from .text import note_texts
from .trace import TraceSummary

MOST_ROWS = 128
RULE = (
    "The times are those of the trace. On a GPU, communication is the kernels of NCCL or RCCL, memory the copies, and "
    "computation all other kernels; without a GPU they are the work of the process groups and the operators of ATen. "
    "The overlap is the part of the communication during which the rank computes; idle is when it does neither."
)


def traces_content(traces: Sequence[TraceSummary]) -> dict[str, Any] | None:
    """Return what a template shows, None where there are no traces."""
    if not traces:
        return None
    table = _table(traces)
    return {"table": table, "notes": note_texts(traces), "rule": RULE if table else None}


def _table(traces: Iterable[TraceSummary]) -> PageTable | None:
    known = sorted(
        (trace for trace in traces if trace.window_s), key=lambda trace: (trace.rank is None, trace.rank or 0)
    )
    ranks = [trace.rank for trace in known]
    has_names = len(set(ranks)) < len(ranks) or None in ranks
    headers = ["rank", "trace", "steps", "window", "computes", "communicates", "memory", "overlap", "idle"]
    rows = [
        [
            "" if trace.rank is None else str(trace.rank),
            trace.file.rpartition("/")[2] if has_names else "",
            str(trace.steps or ""),
            _milliseconds(trace.window_s),
            _part(trace.compute_s, trace.window_s),
            _part(trace.communication_s, trace.window_s),
            _part(trace.memory_s, trace.window_s) if trace.memory_s else "",
            f"{trace.overlap_s / trace.communication_s:.0%} of it" if trace.communication_s else "",
            _part(trace.idle_s, trace.window_s),
        ]
        for trace in known[:MOST_ROWS]
    ]
    title = "Ranks" if len(rows) == len(known) else f"The first {len(rows)} of {len(known)} traces"
    return PageTable.of(title, headers, rows) if rows else None


def _part(seconds: float, window: float) -> str:
    return f"{_milliseconds(seconds)} ({seconds / window:.0%})"


def _milliseconds(seconds: float) -> str:
    return f"{number_text(1000 * seconds)} ms"
