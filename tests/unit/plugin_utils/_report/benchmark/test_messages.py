# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark as text: tests/screens/messages/benchmark.txt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark import text
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.latency import latency_limit
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.limits import Setup, limit_of
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.outcome import Benchmark
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned, table
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark, place, places, setup
from ansible_collections.muster.train.tests.support.screens import kept, page_of


def shown(of: Benchmark, earlier: Sequence[dict[str, Any]] = ()) -> list[str]:
    lines = table(text.HEADERS, text.rows(of.sizes), 100)
    return [text.title(of), "", *lines, "", *aligned(text.facts(of, earlier))]


def derived(of: Setup, *on: Any) -> list[str]:
    """The limits of ranks on these places, in words."""
    limit, latency = limit_of(of, on), latency_limit(of, True)
    bounds = [f"{bound.what}: {bound.gb_per_s}: {bound.reason}" for bound in limit.bounds]
    return [*bounds, f"latency: {latency.us}: {latency.reason}"]


def test_what_is_said_of_a_benchmark() -> None:
    before = replace(benchmark(), run_id="benchmark_all_reduce_20261020_143052_8b1c")
    slower = replace(before, sizes=[replace(size, busbw_gb_per_s=size.busbw_gb_per_s * 1.1) for size in before.sizes])
    one_node = place("dgx_h100_ib", "slow", 8, "mlx5_0")
    pages = [
        ("against an earlier run", shown(benchmark(), [slower.to_dict()])),
        ("of the rails", shown(benchmark(groups=4))),
        ("wrong results", shown(benchmark(wrong=3))[-3:]),
        ("not checked", shown(benchmark(wrong=None))[-3:]),
        ("eight adapters, one rank of each node", derived(setup(nproc=1), *places("dgx_h100_ib", 2, 1, "mlx5_0"))),
        ("a slow node", derived(setup(), place("dgx_h100_ib", "fast", 8), one_node)),
        ("AMD", derived(setup("all_to_all"), *places("mi300x_bnxt", 2, 8))),
        ("rails", derived(setup(scope="rails"), *places("hgx_h100_roce", 2, 8))),
        ("a ring of messages", derived(setup("send_recv"), *places("dgx_a100", 2, 8))),
        (
            "without NVLink, by TCP",
            derived(setup(fabric="tcp"), *places("rtx4090", 2, 8, NCCL_SOCKET_IFNAME="=enp1s0f0")),
        ),
        ("gloo", derived(setup(backend="gloo"), *places("dgx_h100_ib", 2, 8, GLOO_SOCKET_IFNAME="enp41s0f1np1"))),
        ("gloo on one machine", derived(setup(backend="gloo"), *[one_node] * 2)),
        ("GPUs that are not known", derived(setup(), *places("hgx_h100", 2, 8))),
    ]
    page = page_of(pages)
    assert page == kept("messages/benchmark.txt", page)
