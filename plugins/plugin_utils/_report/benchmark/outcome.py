# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark as data: each size with its bandwidths and latencies, and how near they come to the limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .definitions import algorithm_bandwidth, bus_bandwidth
from .latency import LatencyLimit
from .limits import BandwidthLimit, Setup
from .measured import Measured, MeasuredRow, Timing

SCHEMA = 1
# Sizes at which the time is latency, not bandwidth.
SMALL_BYTES = 1024
COLUMNS = ("bytes", "count", "time_us", "p50_us", "p99_us", "algbw_gb_per_s", "busbw_gb_per_s", "of_limit", "wrong")


@frozen
class GroupResult:
    """One group at one size: microseconds, GB/s, and how many elements were wrong (None: not checked)."""

    ranks: Sequence[int]
    time_us: float
    p50_us: float
    p99_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    wrong: int | None


@frozen
class SizeResult:
    """One size by its slowest group, with the wrong elements of all; of_limit is the part of the limit's busbw."""

    bytes: int
    count: int
    time_us: float
    p50_us: float
    p99_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    of_limit: float | None
    wrong: int | None
    groups: Sequence[GroupResult]


@frozen
class Benchmark:
    """What was measured, of what, and the limits."""

    run_id: str
    created: str
    cluster: str | None
    setup: Setup
    dtype: str
    iterations: int
    warmup: int
    torch: str | None
    library: str | None
    limit: BandwidthLimit
    latency: LatencyLimit
    sizes: Sequence[SizeResult]

    @property
    def wrong(self) -> int:
        """How many elements of all results were wrong."""
        return sum(size.wrong or 0 for size in self.sizes)

    @property
    def best(self) -> SizeResult | None:
        """The size with the highest bus bandwidth."""
        return max(self.sizes, key=lambda size: size.busbw_gb_per_s, default=None)

    @property
    def smallest(self) -> SizeResult | None:
        """The smallest size, where the time is latency: None if there is none that is small enough."""
        return next((size for size in self.sizes if size.bytes <= SMALL_BYTES), None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as the document has it."""
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in ("run_id", "created", "cluster", "dtype", "iterations", "warmup")},
            **asdict(self.setup),
            "ranks": self.setup.ranks,
            "torch": self.torch,
            "library": self.library,
            "limit": self.limit.to_dict(),
            "latency_limit": asdict(self.latency),
            "sizes": [asdict(size) for size in self.sizes],
        }


def sizes_of(setup: Setup, measured: Measured, limit: BandwidthLimit) -> list[SizeResult]:
    """Return the result of each size."""
    return [_size(setup, measured.groups, row, limit) for row in measured.rows]


def _size(setup: Setup, groups: Sequence[Sequence[int]], row: MeasuredRow, limit: BandwidthLimit) -> SizeResult:
    results = [_group(setup, ranks, row, timing) for ranks, timing in zip(groups, row.timings, strict=True)]
    slowest = min(results, key=lambda result: result.busbw_gb_per_s)
    known = [result.wrong for result in results if result.wrong is not None]
    return SizeResult(
        row.size,
        row.count,
        slowest.time_us,
        slowest.p50_us,
        slowest.p99_us,
        slowest.algbw_gb_per_s,
        slowest.busbw_gb_per_s,
        slowest.busbw_gb_per_s / limit.gb_per_s if limit.gb_per_s else None,
        sum(known) if known else None,
        results,
    )


def _group(setup: Setup, ranks: Sequence[int], row: MeasuredRow, timing: Timing) -> GroupResult:
    return GroupResult(
        ranks,
        timing.mean_s * 1e6,
        timing.p50_s * 1e6,
        timing.p99_s * 1e6,
        algorithm_bandwidth(row.size, timing.mean_s),
        bus_bandwidth(setup.collective, len(ranks), row.size, timing.mean_s),
        timing.wrong,
    )


def to_csv(sizes: Iterable[SizeResult]) -> str:
    """Return the sizes as CSV, with a line of names."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([[getattr(size, name) for name in COLUMNS] for size in sizes])
    return stream.getvalue()


def is_alike(document: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two benchmarks are of the same cluster, collective and ranks, so that they can be compared."""
    names = ("cluster", "collective", "scope", "backend", "fabric", "nnodes", "nproc", "dtype")
    return all(document.get(name) == other.get(name) for name in names)
