# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program of a benchmark wrote on the head: times by size and group, as data that may be anything."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.document import as_integer, as_integers, as_text
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

from ..._results.rows import number

FILE = "outputs/benchmark.json"  # below an experiment
MOST_ROWS, MOST_GROUPS = 100, 65536


@frozen
class Timing:
    """Seconds of one run of the collective in one group, averaged over its ranks; wrong elements, None if unchecked."""

    mean_s: float
    p50_s: float
    p99_s: float
    least_s: float
    greatest_s: float
    wrong: int | None


@frozen
class MeasuredRow:
    """One size in bytes, nccl-tests' count of elements, and the timing of each group."""

    size: int
    count: int
    timings: Sequence[Timing]


@frozen
class Measured:
    """The ranks of each group, the rows by size, and the versions of torch and NCCL (or RCCL)."""

    groups: Sequence[Sequence[int]]
    rows: Sequence[MeasuredRow]
    torch: str | None = None
    library: str | None = None


def read_measured(text: str | None) -> Measured | None:
    """Return what was measured; None for a text that has none of it."""
    data = as_dict(parse_json(text))
    lists = data.get("groups"), data.get("rows")
    if not all(isinstance(part, list) for part in lists):
        return None
    groups = [as_integers(ranks) or [] for ranks in data["groups"][:MOST_GROUPS]]
    rows = [row for item in data["rows"][:MOST_ROWS] if (row := _row(as_dict(item), len(groups))) is not None]
    if not groups or not all(groups):
        return None
    return Measured(groups, rows, as_text(data.get("torch")), as_text(data.get("library")))


def _row(item: dict[str, object], groups: int) -> MeasuredRow | None:
    size, count, lines = as_integer(item.get("bytes")), as_integer(item.get("count")), item.get("groups")
    if size is None or count is None or size <= 0 or not isinstance(lines, list) or len(lines) != groups:
        return None
    timings = [timing for line in lines if (timing := _timing(line)) is not None]
    return MeasuredRow(size, count, timings) if len(timings) == groups else None


def _timing(line: object) -> Timing | None:
    if not isinstance(line, list) or len(line) != 6:
        return None
    numbers = [known for value in line if (known := number(value)) is not None]
    if len(numbers) != 6 or not all(math.isfinite(number) for number in numbers):
        return None
    mean, p50, p99, least, greatest, wrong = numbers
    if min(numbers[:-1]) < 0:
        return None
    return Timing(mean, p50, p99, least, greatest, None if wrong < 0 else int(wrong))
