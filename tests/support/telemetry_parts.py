# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry for tests: the lines of nodes with some GPUs, one of which is too hot; and traces."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.samples import NodeSamples, read_node
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.summary import RunTelemetry, summarize
from ansible_collections.muster.train.plugins.plugin_utils._report.traces.trace import TraceSummary, read_trace

BEGIN, INTERVAL = 1_796_000_000.0, 10.0
HOT = 2


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    """Return what a GPU does: the hot one is slow, and throttled."""
    known: dict[str, Any] = {"index": index, "utilization": 97.0, "power_w": 600.0 + index, "clock_mhz": 1755.0}
    known.update(memory_mib=70123.0, memory_total_mib=81559.0, temperature_c=60.0 + index, throttle=["sw_power_cap"])
    if index == HOT:
        known.update(clock_mhz=1200.0, temperature_c=91.0, throttle=["sw_power_cap", "hw_thermal_slowdown"])
    return {**known, **changes}


def sample(number: int, gpus: Iterable[dict[str, Any]] = (), **changes: Any) -> dict[str, Any]:
    """Return the sample with this number."""
    known: dict[str, Any] = {"time": BEGIN + INTERVAL * number}
    known.update(memory_mib=65536 + number, memory_total_mib=2097152)
    if number:
        network = {"eth0": [1000 * number, 2000], "mlx5_0/1": [5_000_000_000, 4_000_000_000]}
        known = {**known, "cpu_percent": 12.5, "network": network}
    return {**known, "gpus": list(gpus), **changes}


def file_lines(samples: Iterable[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(known).encode() + b"\n" for known in samples]


def node(name: str = "node0", gpus: int = 4, samples: int = 30) -> NodeSamples:
    """Return the samples of a node."""
    return read_node(name, file_lines(sample(number, map(gpu, range(gpus))) for number in range(samples)))


def telemetry() -> RunTelemetry:
    """Return that of two nodes; on one of them the tool has hung in the end."""
    note = {"tool": "nvidia-smi", "kind": "no_answer", "seconds": 10.0, "calls": 3}
    hung = read_node("node1", file_lines([*(sample(number, [gpu(0)]) for number in range(9)), sample(9, note=note)]))
    return summarize([node(), hung])


def event(name: str, begin: float, duration: float, category: str = "kernel") -> dict[str, Any]:
    """Return an event of a trace, with times in microseconds."""
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": duration}


def gpu_events() -> Iterator[dict[str, Any]]:
    """Yield those of a step of 1000 us: 600 compute, 300 communicate, of which 100 both; 50 copy, 150 nothing."""
    yield {"ph": "M", "name": "process_name", "args": {"name": "python"}}
    yield event("ProfilerStep#7", 0, 1000, "user_annotation")
    yield event("aten::mm", 0, 400, "cpu_op")
    yield event("ampere_bf16_gemm", 0, 400)
    yield event("void at::native::vectorized_elementwise_kernel<4>", 300, 300)
    yield event("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 500, 300)
    yield event("Memcpy DtoH", 950, 50, "gpu_memcpy")


def trace_text(events: Iterable[dict[str, Any]], rank: int | None = 3) -> str:
    """Return a trace as torch writes one."""
    info = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}}
    return json.dumps({"schemaVersion": 1, **info, "traceEvents": list(events), "traceName": "x"}, indent=1)


def trace(text: str, file: str = "rank_03_trace.json") -> TraceSummary:
    return read_trace(file, io.StringIO(text).read)
