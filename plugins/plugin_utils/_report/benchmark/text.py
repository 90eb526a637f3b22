# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark as a person reads it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_number
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from ..._page.page import count
from ..._request.byte_size import size_text
from ..._results.rows import number_text
from ..._text.table import names
from .outcome import Benchmark, SizeResult

HEADERS = ("size", "count", "time us", "p50 us", "p99 us", "algbw GB/s", "busbw GB/s", "of limit", "wrong")
SCOPES = {"all": "all together", "rails": "one rank of each node together", "nodes": "those of each node together"}


def title(benchmark: Benchmark) -> str:
    """Return what was measured, in one line."""
    setup = benchmark.setup
    over = setup.fabric.upper() if setup.nodes > 1 else "one node"
    where = f"{count(setup.nnodes * setup.nproc, 'rank')} on {count(setup.nnodes, 'node')}, {SCOPES[setup.scope]}"
    return f"{setup.collective} of {benchmark.dtype}, {where}, {setup.backend} over {over}"


def rows(sizes: Sequence[SizeResult]) -> list[list[str]]:
    """Return the rows of the table, below HEADERS."""
    return [
        [
            size_text(size.bytes),
            f"{size.count:,}",
            *(number_text(value) for value in (size.time_us, size.p50_us, size.p99_us)),
            *(bandwidth(value) for value in (size.algbw_gb_per_s, size.busbw_gb_per_s)),
            "" if size.of_limit is None else percent(size.of_limit),
            "" if size.wrong is None else f"{size.wrong:,}",
        ]
        for size in sizes
    ]


def facts(benchmark: Benchmark, earlier: Sequence[Mapping[str, Any]] = ()) -> list[tuple[str, str]]:
    """Return what the table means, as names and texts; earlier are the documents of earlier runs, the newest first."""
    best, smallest, limit, latency = benchmark.best, benchmark.smallest, benchmark.limit, benchmark.latency
    pairs = []
    if best is not None:
        part = f", {percent(best.of_limit)} of the limit" if best.of_limit is not None else ""
        pairs.append(("busbw", f"at most {bandwidth(best.busbw_gb_per_s)} GB/s, at {size_text(best.bytes)}{part}"))
    known = f"{bandwidth(limit.gb_per_s)} GB/s, " if limit.gb_per_s is not None else "not known: "
    pairs.append(("busbw limit", f"{known}{limit.reason}"))
    if smallest is not None:
        times = f"p50 {number_text(smallest.p50_us)} us, p99 {number_text(smallest.p99_us)} us"
        pairs.append(("latency", f"{times}, at {size_text(smallest.bytes)}"))
        least = f"at least {latency.us:.1f} us, " if latency.us is not None else "not known: "
        pairs.append(("latency limit", f"{least}{latency.reason}"))
    if (slow := slowest_group(benchmark)) is not None:
        pairs.append(("slowest", slow))
    if best is not None and earlier and (change := _change(best, earlier[0])):
        pairs.append(("earlier", change))
    return [*pairs, ("results", results(benchmark))]


def results(benchmark: Benchmark) -> str:
    """Return whether the results were right."""
    if all(size.wrong is None for size in benchmark.sizes):
        return "not checked"
    bad = [size_text(size.bytes) for size in benchmark.sizes if size.wrong]
    return f"{count(benchmark.wrong, 'element')} wrong, at {names(bad, 4)}" if bad else "all elements were right"


def slowest_group(benchmark: Benchmark) -> str | None:
    """Return which group is the slowest at the largest size, and by how much; None of a single group."""
    groups = benchmark.sizes[-1].groups if benchmark.sizes else ()
    if len(groups) < 2:
        return None
    middle = statistics.median(group.busbw_gb_per_s for group in groups)
    least = min(groups, key=lambda group: group.busbw_gb_per_s)
    below = f", {percent(1 - least.busbw_gb_per_s / middle)} below the median" if middle else ""
    ranks = f"ranks {', '.join(map(str, least.ranks[:4]))}{', …' if len(least.ranks) > 4 else ''}"
    return f"{ranks}: {bandwidth(least.busbw_gb_per_s)} GB/s at {size_text(benchmark.sizes[-1].bytes)}{below}"


# More than a benchmark takes (64 GiB), and more than any link carries in GB/s.
LARGEST_BYTES, LARGEST_BUSBW = 1 << 40, 1e9


def curve_of(document: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return the sizes and bus bandwidths of a benchmark's document, which may hold anything."""
    sizes = document.get("sizes")
    pairs = [(as_dict(item).get("bytes"), as_number(as_dict(item).get("busbw_gb_per_s"))) for item in _listed(sizes)]
    return [
        (size, busbw)
        for size, busbw in pairs
        if isinstance(size, int) and 0 < size <= LARGEST_BYTES and busbw is not None and 0 <= busbw < LARGEST_BUSBW
    ]


def date_of(document: Mapping[str, Any]) -> str:
    """Return when an earlier benchmark was made: 2026-10-20 14:30."""
    return str(document.get("created"))[:16].replace("T", " ")


def bandwidth(value: float) -> str:
    """Return a bandwidth in GB/s: `373.2`, `0.0213`."""
    return f"{value:.1f}" if value >= 100 else f"{value:.3g}" if value >= 0.01 else f"{value:.4f}"


def percent(part: float) -> str:
    """Return a part of a whole: `90 %`, `8.3 %`."""
    return f"{100 * part:.0f} %" if part >= 0.1 else f"{100 * part:.1f} %"


def _change(best: SizeResult, earlier: Mapping[str, Any]) -> str | None:
    """Return how the highest bus bandwidth differs from what an earlier run reached at the same size."""
    before = dict(curve_of(earlier)).get(best.bytes)
    if not before:
        return None
    change = 100 * (best.busbw_gb_per_s / before - 1)
    return f"{change:+.1f} % at {size_text(best.bytes)} against {bandwidth(before)} GB/s in {earlier.get('run_id')}"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
