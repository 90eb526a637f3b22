# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's GPUs do, from nvidia-smi --query-gpu.

A driver refuses the whole query for one field that it does not know: throttle reasons became event reasons with driver
535, so there is a query with each, and one without. A value that a GPU does not have is printed in words ("[N/A]",
"[Unknown Error]") and is None.
"""

from __future__ import annotations

import re
from functools import partial

from ..._records.telemetry import GpuSample, GpuSource

# The fields of a query and those of a sample that they are.
FIELDS = {
    "index": "index",
    "utilization.gpu": "utilization",
    "power.draw": "power_w",
    "clocks.sm": "clock_mhz",
    "clocks.mem": "memory_clock_mhz",
    "memory.used": "memory_mib",
    "memory.total": "memory_total_mib",
    "temperature.gpu": "temperature_c",
}
# The bits of clocks_event_reasons.active (nvml.h, nvmlClocksEventReason…); others are of GPUs that are idle, or keep
# to configured clocks.
REASONS = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
_INDEX = re.compile("[0-9]{1,4}", re.ASCII)
_NUMBER = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(?: (?:%|W|MHz|MiB|C))?", re.ASCII)
_MASK = re.compile("0x([0-9a-fA-F]{1,16})")


def parse_samples(text: str, has_reasons: bool = False) -> list[GpuSample]:
    """Return the rows of a query of FIELDS, and of the throttle reasons behind them; other lines are left out."""
    samples = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == len(FIELDS) + has_reasons and _INDEX.fullmatch(values[0]):
            numbers = {name: _number(value) for name, value in zip(list(FIELDS.values())[1:], values[1:])}
            reasons = _reasons(values[-1]) if has_reasons else None
            samples.append(GpuSample(index=int(values[0]), throttle=reasons, **numbers))
    return samples


def _number(value: str) -> float | None:
    match = _NUMBER.fullmatch(value)
    return float(match.group(1)) if match else None


def _reasons(value: str) -> list[str] | None:
    match = _MASK.fullmatch(value)
    return [name for bit, name in REASONS.items() if int(match.group(1), 16) & bit] if match else None


def _query(*more: str) -> GpuSource:
    argv = ("nvidia-smi", f"--query-gpu={','.join((*FIELDS, *more))}", "--format=csv,noheader,nounits")
    return GpuSource(argv, partial(parse_samples, has_reasons=bool(more)))


SOURCES = (_query("clocks_event_reasons.active"), _query("clocks_throttle_reasons.active"), _query())
