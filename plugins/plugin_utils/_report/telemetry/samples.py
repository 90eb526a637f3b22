# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples of a node: the lines of `telemetry.jsonl`, of which any may be damaged."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_integer, as_text
from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

from ..._results.rows import number
from ..metrics import LARGEST, UNKNOWN

GPU_METRICS = ("utilization", "power_w", "clock_mhz", "memory_mib", "temperature_c")
HOST_METRICS = ("cpu_percent", "memory_mib")
RECEIVED, SENT = "received", "sent"
# Of a node, more than there are.
MOST_GPUS, MOST_INTERFACES, MOST_REASONS = 128, 128, 32


@frozen
class Samples:
    """What has changed over the time: values by metric, NaN where a sample has none; times in seconds since 1970."""

    times: array[float] = field(default_factory=lambda: array("d"))
    values: dict[str, array[float]] = field(default_factory=dict)

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Add the values of a later moment."""
        self.times.append(time)
        for name, value in values.items():
            column = self.values.setdefault(name, array("d"))
            column.append(value)

    def known(self, name: str) -> list[float]:
        """Return the values of a metric that are known."""
        return [value for value in self.values.get(name, ()) if not math.isnan(value)]


@dataclasses.dataclass
class GpuSamples:
    """A GPU: judged are the samples that say whether it is throttled, throttled those with each reason."""

    node: str
    index: int
    samples: Samples = dataclasses.field(default_factory=Samples)
    memory_total_mib: float | None = None
    judged: int = 0
    throttled: dict[str, int] = dataclasses.field(default_factory=dict)


@frozen
class TelemetryNote:
    """What is odd in the telemetry of a node; kind: no_answer or no_gpus (of a tool), broken, clock or empty.

    seconds and calls: the time that the tool had, and how often; why: what it printed; count: of lines.
    """

    node: str
    kind: str
    tool: str | None = None
    why: str | None = None
    seconds: float | None = None
    calls: int | None = None
    count: int = 1


@frozen
class NodeSamples:
    """A node: its host, with the bytes per second of all its ports together, its GPUs, and the peaks of each port."""

    node: str
    host: Samples
    memory_total_mib: float | None
    peaks: Mapping[str, tuple[float, float]]
    gpus: Sequence[GpuSamples]
    notes: Sequence[TelemetryNote]


def read_node(node: str, lines: Iterable[bytes]) -> NodeSamples:
    """Read the lines of a node."""
    reader = _Reader(node)
    for line in lines:
        record = parse_json(line)
        time = _value(record.get("time")) if isinstance(record, dict) else UNKNOWN
        if not math.isnan(time):
            reader.take(time, record)
        elif line.strip():
            reader.count("broken")
    return reader.finish()


class _Reader:
    def __init__(self, node: str) -> None:
        self._node = node
        self._host = Samples()
        self._memory_total: float | None = None
        self._peaks: dict[str, tuple[float, float]] = {}
        self._gpus: dict[int, GpuSamples] = {}
        self._notes: list[TelemetryNote] = []
        self._counts: dict[str, int] = {}

    def count(self, kind: str) -> None:
        """Count a line that is left out."""
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def take(self, time: float, record: dict[str, Any]) -> None:
        """Take what a line has."""
        if isinstance(record.get("note"), dict):
            self._notes.append(_note(self._node, record["note"]))
        if self._host.times and time <= self._host.times[-1]:
            self.count("clock")
            return
        self._memory_total = number(record.get("memory_total_mib")) or self._memory_total
        self._host.add(time, {**{name: _value(record.get(name)) for name in HOST_METRICS}, **self._traffic(record)})
        gpus = record.get("gpus")
        for gpu in gpus[:MOST_GPUS] if isinstance(gpus, list) else ():
            index = as_integer(as_dict(gpu).get("index"))
            if index is not None and (index in self._gpus or len(self._gpus) < MOST_GPUS):
                self._take_gpu(time, index, gpu)

    def _traffic(self, record: dict[str, Any]) -> dict[str, float]:
        """Return what all ports together have received and sent; note the peaks of each."""
        total = [0.0, 0.0]
        network = record.get("network")
        if not isinstance(network, dict):
            return {RECEIVED: UNKNOWN, SENT: UNKNOWN}
        for name, pair in list(network.items())[:MOST_INTERFACES]:
            rates = [_value(rate) for rate in pair[:2]] if isinstance(pair, list) else []
            if len(rates) == 2 and not any(map(math.isnan, rates)):
                peaks = self._peaks.get(name, (0.0, 0.0))
                self._peaks[name] = max(peaks[0], rates[0]), max(peaks[1], rates[1])
                total = [total[0] + rates[0], total[1] + rates[1]]
        return {RECEIVED: total[0], SENT: total[1]}

    def _take_gpu(self, time: float, index: int, gpu: dict[str, Any]) -> None:
        known = self._gpus.setdefault(index, GpuSamples(self._node, index))
        if known.samples.times and known.samples.times[-1] == time:
            return
        known.samples.add(time, {name: _value(gpu.get(name)) for name in GPU_METRICS})
        known.memory_total_mib = number(gpu.get("memory_total_mib")) or known.memory_total_mib
        reasons = gpu.get("throttle")
        known.judged += isinstance(reasons, list)
        for reason in reasons[:MOST_REASONS] if isinstance(reasons, list) else ():
            if isinstance(reason, str) and (reason in known.throttled or len(known.throttled) < MOST_REASONS):
                known.throttled[reason] = known.throttled.get(reason, 0) + 1

    def finish(self) -> NodeSamples:
        if not self._host.times and not self._counts:
            self.count("empty")
        notes = [*self._notes, *(TelemetryNote(self._node, kind, count=count) for kind, count in self._counts.items())]
        gpus = [self._gpus[index] for index in sorted(self._gpus)]
        return NodeSamples(self._node, self._host, self._memory_total, self._peaks, gpus, notes)


def _value(value: object) -> float:
    known = number(value)
    return UNKNOWN if known is None or not abs(known) <= LARGEST else float(known)


def _note(node: str, note: dict[str, Any]) -> TelemetryNote:
    kind, tool = as_text(note.get("kind")), as_text(note.get("tool")) or "the tool"
    known = kind if kind in ("no_answer", "no_gpus") else "no_gpus"
    return TelemetryNote(
        node, known, tool, as_text(note.get("why")), number(note.get("seconds")), as_integer(note.get("calls"))
    )
