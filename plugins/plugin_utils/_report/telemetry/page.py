# SPDX-License-Identifier: GPL-3.0-or-later
"""The telemetry of a run on its page: figures of all GPUs and hosts together, and a table of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from ..._page.tables import Cell, PageTable
from ..._results.rows import number_text
from ..charts import Figure
from ..curves import CurveChart, draw_curve
from ..series import Curve
from .samples import RECEIVED, SENT
from .summary import GpuSummary, HostSummary, RunTelemetry
from .text import note_texts, unusual

MOST_ROWS, MOST_OPEN = 128, 16
# A figure of less than this, in its unit, shows nothing: the heartbeats of the runners.
LEAST_DRAWN = 0.01
RULE = (
    "Marked is a GPU that was throttled for another reason than its limit of power, or that stands out: its median "
    "differs from that of all GPUs by more than a tenth, and by a modified z-score of more than 3.5."
)


@frozen
class Shown:
    """A figure of a metric: its title with the unit, what it shows of a GPU or a host, and the factor of the unit."""

    title: str
    caption: str
    factor: float = 1.0


GPU_FIGURES = {
    "utilization": Shown("GPU utilization in %", "utilization of the GPUs"),
    "power_w": Shown("GPU power in W", "power of the GPUs"),
    "clock_mhz": Shown("GPU clock in MHz", "clock of the GPUs"),
    "temperature_c": Shown("GPU temperature in °C", "temperature of the GPUs"),
    "memory_mib": Shown("GPU memory in GiB", "memory in use on the GPUs", 1 / 1024),
}
HOST_FIGURES = {
    "cpu_percent": Shown("CPU in %", "use of all CPUs of the nodes"),
    "memory_mib": Shown("memory in GiB", "memory in use on the nodes", 1 / 1024),
    RECEIVED: Shown("received in MB/s", "what all ports of a node receive, those of RDMA included", 1e-6),
    SENT: Shown("sent in MB/s", "what all ports of a node send, those of RDMA included", 1e-6),
}


def telemetry_content(telemetry: RunTelemetry, are_drawn: bool) -> dict[str, Any] | None:
    """Return what a template shows, None where there is nothing."""
    notes = note_texts(telemetry.notes)
    if not telemetry.hosts and not notes:
        return None
    tables = [table for table in (_gpu_table(telemetry.gpus), _host_table(telemetry.hosts)) if table]
    return {
        "notes": notes,
        "unusual": unusual(telemetry.gpus),
        "figures": list(_figures(telemetry)) if are_drawn else [],
        "open": [table for table in tables if len(table.rows) <= MOST_OPEN],
        "folded": [table for table in tables if len(table.rows) > MOST_OPEN],
        "rule": RULE if telemetry.gpus else None,
    }


def _figures(telemetry: RunTelemetry) -> Iterator[Figure]:
    for figures, curves, several in (
        (GPU_FIGURES, telemetry.gpu_curves, len(telemetry.gpus) > 1),
        (HOST_FIGURES, telemetry.host_curves, len(telemetry.hosts) > 1),
    ):
        for curve in curves:
            shown = figures[curve.name]
            if len(curve.steps) > 1 and max(curve.highs) * shown.factor >= LEAST_DRAWN:  # one sample is in the table
                axis, scaled = _in_minutes(curve)
                chart = CurveChart(shown.title, scaled, shown.factor, axis=axis, from_zero=True)
                band = ": the median, in a band from the least to the greatest" if several else ""
                yield Figure(f"{shown.caption}{band}", draw_curve(chart))


def _in_minutes(curve: Curve) -> tuple[str, Curve]:
    """Return the name of the axis of time, and the curve in its unit."""
    for name, seconds in (("time in h", 3600.0), ("time in min", 60.0)):
        if curve.steps[-1] >= 3 * seconds:
            return name, dataclasses.replace(curve, steps=[step / seconds for step in curve.steps])
    return "time in s", curve


def _gpu_table(gpus: Sequence[GpuSummary]) -> PageTable | None:
    """Return the table of the GPUs; of very many only those that are marked, as far as there is room."""
    if not gpus:
        return None
    headers = ["node", "GPU", "utilization", "power", "at most", "clock", "memory", "temperature", "throttled", ""]
    marked = [gpu for gpu in gpus if gpu.troubles or gpu.outlier]
    shown = gpus if len(gpus) <= MOST_ROWS else marked[:MOST_ROWS]
    rows = [
        [
            gpu.node,
            str(gpu.index),
            _text(gpu.utilization, "%"),
            _text(gpu.power_w, "W"),
            _text(gpu.power_max_w, "W"),
            _text(gpu.clock_mhz, "MHz"),
            _memory(gpu.memory_max_mib, gpu.memory_total_mib),
            _text(gpu.temperature_c, "°C"),
            ", ".join(f"{reason} {share:.0%}" for reason, share in (gpu.throttled or {}).items()),
            "throttled" if gpu.troubles else "unlike the others" if gpu.outlier else "",
        ]
        for gpu in shown
    ]
    title = f"{len(gpus)} GPUs" if shown is gpus else f"{len(shown)} of {len(gpus)} GPUs, those that are marked"
    table = PageTable.of(title if len(gpus) > 1 else "GPU", headers, rows) if rows else None
    if table is None or table.headers[-1]:  # none is marked
        return table
    cells = [[*row[:-1], Cell(row[-1].text, "warn" if row[-1].text else row[-1].style)] for row in table.rows]
    return dataclasses.replace(table, rows=cells)


def _host_table(hosts: Sequence[HostSummary]) -> PageTable | None:
    headers = ["node", "samples", "CPU", "memory", "fastest port", "received", "sent"]
    rows = []
    for host in hosts[:MOST_ROWS]:
        name, peaks = max(host.ports.items(), key=lambda port: sum(port[1]), default=("", (0.0, 0.0)))
        rates = [f"{number_text(round(rate / 1e6, 2))} MB/s" if name else "" for rate in peaks]
        memory = _memory(host.memory_max_mib, host.memory_total_mib)
        rows.append([host.node, f"{host.samples:,}", _text(host.cpu_percent, "%"), memory, name, *rates])
    return PageTable.of("Nodes" if len(hosts) > 1 else "Node", headers, rows) if rows else None


def _text(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number_text(value)} {unit}"


def _memory(used: float | None, total: float | None) -> str:
    """Return memory as `70.1 of 80 GiB`."""
    if used is None:
        return ""
    return f"{used / 1024:.1f} GiB" if total is None else f"{used / 1024:.1f} of {total / 1024:.0f} GiB"
