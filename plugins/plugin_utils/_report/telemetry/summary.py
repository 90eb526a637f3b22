# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples of all nodes, made few: curves of all GPUs and hosts together, and a summary of each."""

from __future__ import annotations

import dataclasses
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

from ..series import Curve, curve_of, plain_data
from .samples import GPU_METRICS, HOST_METRICS, RECEIVED, SENT, GpuSamples, NodeSamples, Samples, TelemetryNote

# Figures are drawn smaller than those of metrics, and there are more.
MOST_POINTS = 150
# What every GPU of a busy node may do: shown, but no trouble. AzNHC (check_gpu_clock_throttling) has the same rule.
POWER_REASONS = ("sw_power_cap", "ppt")
# A GPU stands out whose modified z-score is above this (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993),
# and that is further from the median of all than this part of it: equal GPUs are never exactly equal.
Z_SCORE, LEAST_DISTANCE, FEWEST = 3.5, 0.1, 4
COMPARED = ("utilization", "power_w", "clock_mhz", "temperature_c")


@frozen
class GpuSummary:
    """A GPU in numbers: medians of its utilization in percent, power in W and clock in MHz, and its greatest values.

    throttled has the part of the samples with each reason, None where none says; outlier the metrics in which it
    stands out.
    """

    node: str
    index: int
    samples: int
    utilization: float | None
    power_w: float | None
    power_max_w: float | None
    clock_mhz: float | None
    memory_max_mib: float | None
    memory_total_mib: float | None
    temperature_c: float | None
    throttled: Mapping[str, float] | None
    outlier: Sequence[str] = ()

    @property
    def troubles(self) -> list[str]:
        """The reasons by which it is throttled, without its limit of power."""
        return [reason for reason in self.throttled or () if reason not in POWER_REASONS]


@frozen
class HostSummary:
    """A host in numbers: the median of the share of its CPUs, its memory, and the peaks of its ports.

    ports has the bytes per second that each port has received and sent.
    """

    node: str
    samples: int
    cpu_percent: float | None
    memory_max_mib: float | None
    memory_total_mib: float | None
    ports: Mapping[str, Sequence[float]]


@frozen
class RunTelemetry:
    """What all nodes did; the steps of a curve are seconds since the first sample of any node."""

    gpu_curves: Sequence[Curve] = field(default_factory=list)
    host_curves: Sequence[Curve] = field(default_factory=list)
    gpus: Sequence[GpuSummary] = field(default_factory=list)
    hosts: Sequence[HostSummary] = field(default_factory=list)
    notes: Sequence[TelemetryNote] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            name: [plain_data(dataclasses.asdict(item)) for item in getattr(self, name)]
            for name in ("gpu_curves", "host_curves", "gpus", "hosts")
        }


def summarize(nodes: Sequence[NodeSamples]) -> RunTelemetry:
    """Return the telemetry of a run."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    hosts = [node.host for node in nodes]
    ends = _ends(hosts)
    return RunTelemetry(
        gpu_curves=_curves(GPU_METRICS, [gpu.samples for gpu in gpus], ends),
        host_curves=_curves((*HOST_METRICS, RECEIVED, SENT), hosts, ends),
        gpus=with_outliers([_gpu(gpu) for gpu in gpus]),
        hosts=[_host(node) for node in nodes if node.host.times],
        notes=[note for node in nodes for note in node.notes],
    )


def _ends(hosts: Sequence[Samples]) -> list[float]:
    """Return the last moment of each point of a curve: where there are few, the samples of a node."""
    known = [host.times for host in hosts if host.times]
    if not known:
        return []
    first, last = min(times[0] for times in known), max(times[-1] for times in known)
    longest = max(known, key=len)
    if len(longest) <= MOST_POINTS:
        return [*longest[:-1], last]
    return [*(first + (last - first) * number / MOST_POINTS for number in range(1, MOST_POINTS)), last]


def _curves(names: Iterable[str], samples: Sequence[Samples], ends: Sequence[float]) -> list[Curve]:
    places = [[bisect_right(known.times, end) for end in ends] for known in samples]
    curves = [curve_of(name, ends, places, [known.values.get(name, []) for known in samples]) for name in names]
    begin = min((known.times[0] for known in samples if known.times), default=0.0)
    return [dataclasses.replace(curve, steps=[step - begin for step in curve.steps]) for curve in curves if curve.steps]


def _gpu(gpu: GpuSamples) -> GpuSummary:
    samples = gpu.samples
    return GpuSummary(
        node=gpu.node,
        index=gpu.index,
        samples=len(samples.times),
        utilization=_median(samples.known("utilization")),
        power_w=_median(samples.known("power_w")),
        power_max_w=max(samples.known("power_w"), default=None),
        clock_mhz=_median(samples.known("clock_mhz")),
        memory_max_mib=max(samples.known("memory_mib"), default=None),
        memory_total_mib=gpu.memory_total_mib,
        temperature_c=max(samples.known("temperature_c"), default=None),
        throttled={name: count / gpu.judged for name, count in gpu.throttled.items()} if gpu.judged else None,
    )


def _host(node: NodeSamples) -> HostSummary:
    return HostSummary(
        node=node.node,
        samples=len(node.host.times),
        cpu_percent=_median(node.host.known("cpu_percent")),
        memory_max_mib=max(node.host.known("memory_mib"), default=None),
        memory_total_mib=node.memory_total_mib,
        ports=dict(node.peaks),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def with_outliers(gpus: Sequence[GpuSummary]) -> list[GpuSummary]:
    """Mark the GPUs that stand out among all of the run."""
    marks: list[list[str]] = [[] for _gpu in gpus]
    for name in COMPARED:
        values = [getattr(gpu, name) for gpu in gpus]
        known = [value for value in values if value is not None]
        if len(known) < FEWEST:
            continue
        middle = statistics.median(known)
        deviation = statistics.median(abs(value - middle) for value in known)
        limit = max(Z_SCORE * deviation / 0.6745, LEAST_DISTANCE * abs(middle))
        for mark, value in zip(marks, values, strict=True):
            if value is not None and abs(value - middle) > limit:
                mark.append(name)
    return [dataclasses.replace(gpu, outlier=mark) for gpu, mark in zip(gpus, marks, strict=True)]
