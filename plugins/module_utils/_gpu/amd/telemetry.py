# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's GPUs do, from amd-smi, or rocm-smi where that is missing or fails.

amd-smi says why a GPU is throttled with --violation, --throttle in ROCm 6.3 and 6.4; older versions refuse both and say
only whether it is. Since ROCm 6.2 a value is an object with its unit, before a number; one that a GPU does not have is
"N/A". rocm-smi prints an object for each card, in which all values are texts.
"""

from __future__ import annotations

import re
from typing import Any

from ..._records.known import as_dict
from ..._records.telemetry import GpuSample, GpuSource
from .smi_json import parse_gpus, parse_tool_json

MIB = 1024 * 1024
METRICS = ("amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--mem-usage")
ROCM_SMI = ("rocm-smi", "--showuse", "--showpower", "--showclocks", "--showtemp", "--showmeminfo", "vram", "--json")
# The status of a reason, by the name that it gets. Low utilization and the limits of a host do not count.
VIOLATION = re.compile("((?:prochot|ppt|socket_thermal|vr_thermal|hbm_thermal))_violation_status")
_CARD = re.compile("card([0-9]{1,4})", re.ASCII)
_NUMBER = re.compile(r"\(?([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(?:%|W|MHz|Mhz|MB|C)?\)?", re.ASCII)


def parse_metrics(text: str) -> list[GpuSample]:
    """Return the GPUs of `amd-smi metric --json`."""
    return [_sample(index, gpu) for index, gpu in parse_gpus(text)[0]]


def _sample(index: int, gpu: dict[str, Any]) -> GpuSample:
    usage, power, clock, temperature, memory = (
        as_dict(gpu.get(name)) for name in ("usage", "power", "clock", "temperature", "mem_usage")
    )
    return GpuSample(
        index=index,
        utilization=_first(usage, "gfx_activity", "gfx_usage"),
        power_w=_first(power, "socket_power", "current_socket_power", "average_socket_power", "current_power"),
        clock_mhz=_clock(clock, "gfx_0", "gfx"),
        memory_clock_mhz=_clock(clock, "mem_0", "mem"),
        memory_mib=_first(memory, "used_vram"),
        memory_total_mib=_first(memory, "total_vram"),
        temperature_c=_first(temperature, "hotspot", "edge"),
        throttle=_reasons(as_dict(gpu.get("throttle")), power.get("throttle_status")),
    )


def _clock(clocks: dict[str, Any], *names: str) -> float | None:
    known = (_first(as_dict(clocks.get(name)), "clk", "cur_clk") for name in names)
    return next((value for value in known if value is not None), None)


def _reasons(throttle: dict[str, Any], status: object) -> list[str] | None:
    """Return the violations that are active; of a GPU that only says whether there is one: `throttled`."""
    known = {name: throttle[name] for name in throttle if VIOLATION.fullmatch(name)}
    if any(value in ("ACTIVE", "NOT ACTIVE") for value in known.values()):
        return [name.partition("_violation")[0] for name, value in known.items() if value == "ACTIVE"]
    return {"THROTTLED": ["throttled"], "UNTHROTTLED": []}.get(str(status))


def parse_cards(text: str) -> list[GpuSample]:
    """Return the cards of `rocm-smi --json`."""
    cards = ((_CARD.fullmatch(name), as_dict(card)) for name, card in as_dict(parse_tool_json(text)[0]).items())
    return [_card(int(match.group(1)), card) for match, card in cards if match]


def _card(index: int, card: dict[str, Any]) -> GpuSample:
    package = "Graphics Package Power (W)"
    used, total = (_first(card, f"VRAM Total {name}Memory (B)") for name in ("Used ", ""))
    return GpuSample(
        index=index,
        utilization=_first(card, "GPU use (%)"),
        power_w=_first(card, f"Current Socket {package}", f"Average {package}"),
        clock_mhz=_first(card, "sclk clock speed:"),
        memory_clock_mhz=_first(card, "mclk clock speed:"),
        memory_mib=None if used is None else used // MIB,
        memory_total_mib=None if total is None else total // MIB,
        temperature_c=_first(card, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"),
    )


def _first(values: dict[str, Any], *names: str) -> float | None:
    """Return the first value that is a number."""
    return next((number for name in names if (number := _number(values.get(name))) is not None), None)


def _number(value: object) -> float | None:
    """Return a number that stands alone, in a text, or in an object with its unit."""
    if isinstance(value, dict):
        value = value.get("value")
    match = None if isinstance(value, (bool, list)) else _NUMBER.fullmatch(str(value))
    return float(match.group(1)) if match else None


SOURCES = (
    GpuSource((*METRICS, "--violation", "--json"), parse_metrics),
    GpuSource((*METRICS, "--throttle", "--json"), parse_metrics),
    GpuSource((*METRICS, "--json"), parse_metrics),
    GpuSource(ROCM_SMI, parse_cards),
)
