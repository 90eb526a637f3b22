# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks for tests: machines of tests/machines as places of ranks, and times that would be measured there."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._facts.gather import Gathered, gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._nccl import grammar
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.latency import latency_limit
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.limits import Setup, limit_of
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.links import BenchmarkNode
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.measured import (
    Measured,
    MeasuredRow,
    Timing,
)
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.outcome import Benchmark, sizes_of
from ansible_collections.muster.train.plugins.plugin_utils._request.benchmark import decided
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.machines import load
from ansible_collections.muster.train.tests.support.plan_parts import given, request

ASKED = FactsQuery(code_dir="/", python="python3", workdir="/tmp", subset=("net", "rdma", "gpu", "gpu_health"))


def asked(count: int = 2, **parameters: Any) -> dict[str, Any]:
    """The request of a benchmark on `count` nodes."""
    built_in = {parameter.name: parameter.built_in() for parameter in VERBS["benchmark"]}
    settings = {name: {"value": value, "origin": "default", "layer": "default"} for name, value in built_in.items()}
    settings.update({name: given(value, name) for name, value in parameters.items()})
    return {**request(count), "verb": "benchmark", "parameters": {**settings, **decided("benchmark")}}


@functools.cache
def gathered_of(machine: str) -> Gathered:
    """The facts of a machine of tests/machines."""
    with tempfile.TemporaryDirectory(prefix="machine-") as folder:
        return gather(load(machine, Path(folder)), ASKED)


def place(machine: str, name: str, nproc: int, hcas: str = "", **environment: str) -> BenchmarkNode:
    """A node that is such a machine, as a boot of its own; hcas are those of NCCL_IB_HCA, all without them."""
    gathered = gathered_of(machine)
    node = Node(name, replace(gathered.node, boot_id=name), gathered.rdma, gathered.gpu)
    chosen = {"NCCL_IB_HCA": grammar.render(hcas.split())} if hcas else {}
    return BenchmarkNode(node, nproc, {**chosen, **environment})


def places(machine: str, nnodes: int, nproc: int, hcas: str = "", **environment: str) -> list[BenchmarkNode]:
    """Nodes that are alike."""
    return [place(machine, f"node{number}", nproc, hcas, **environment) for number in range(nnodes)]


def setup(collective: str = "all_reduce", nnodes: int = 2, nproc: int = 8, **changes: Any) -> Setup:
    """Ranks on two nodes of eight GPUs, over RDMA."""
    known: dict[str, Any] = {"scope": "all", "backend": "nccl", "fabric": "rdma", **changes}
    return Setup(collective=collective, nnodes=nnodes, nproc=nproc, **known)


def timing(seconds: float, wrong: int | None = 0) -> Timing:
    return Timing(seconds, seconds * 0.9, seconds * 1.5, seconds * 0.8, seconds * 2, wrong)


def benchmark(wrong: int | None = 0, groups: int = 1, **changes: Any) -> Benchmark:
    """An all_reduce on two DGX H100 that reaches nine tenths of the limit at 1 GiB; every further group is slower."""
    scope = "rails" if groups > 1 else "all"
    measured_setup = setup(scope=scope, nproc=groups if groups > 1 else 8)
    limit = limit_of(measured_setup, places("dgx_h100_ib", 2, measured_setup.nproc, ""))
    top = (limit.gb_per_s or 1.0) * 0.9 * 1e9
    rows = [
        MeasuredRow(
            size, size // 4, [timing(30e-6 + size * 1.875 / top * (1 + group / 10), wrong) for group in range(groups)]
        )
        for size in (8 << 3 * step for step in range(10))
    ]
    ranks = measured_setup.ranks
    measured = Measured([list(range(group, group + ranks)) for group in range(groups)], rows, "2.13.0", "2.28.3")
    known: dict[str, Any] = {
        "run_id": "benchmark_all_reduce_20261120_143052_3f9a",
        "created": "2026-11-20T14:30:52Z",
        "cluster": "lab",
        "setup": measured_setup,
        "dtype": "float32",
        "iterations": 20,
        "warmup": 5,
        "torch": measured.torch,
        "library": measured.library,
        "limit": limit,
        "latency": latency_limit(measured_setup, True),
        "sizes": sizes_of(measured_setup, measured, limit),
    }
    return Benchmark(**{**known, **changes})
