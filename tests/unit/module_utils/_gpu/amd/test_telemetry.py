# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what amd-smi and rocm-smi say that GPUs do."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.telemetry import (
    SOURCES,
    parse_cards,
    parse_metrics,
)
from ansible_collections.muster.train.plugins.module_utils._records.telemetry import GpuSample

METRICS = ("amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--mem-usage")
SAMPLE = GpuSample(0, 87.0, 542.0, 1710.0, 1300.0, 121344.0, 196592.0, 71.0, None)


def value(number: float, unit: str) -> dict[str, Any]:
    return {"value": number, "unit": unit}


def metric(**changes: Any) -> dict[str, Any]:
    """Return a GPU as ROCm 6.2 and newer print it."""
    gpu = {
        "gpu": 0,
        "usage": {"gfx_activity": value(87, "%"), "umc_activity": value(41, "%"), "mm_activity": "N/A"},
        "power": {"socket_power": value(542, "W"), "gfx_voltage": "N/A", "throttle_status": "N/A"},
        "clock": {
            "gfx_0": {"clk": value(1710, "MHz"), "min_clk": value(132, "MHz"), "clk_locked": "DISABLED"},
            "gfx_1": {"clk": value(1650, "MHz")},
            "mem_0": {"clk": value(1300, "MHz")},
        },
        "temperature": {"edge": "N/A", "hotspot": value(71, "C"), "mem": value(58, "C")},
        "mem_usage": {"total_vram": value(196592, "MB"), "used_vram": value(121344, "MB")},
    }
    return {**gpu, **changes}


def test_the_whole_commands() -> None:
    assert [source.argv for source in SOURCES] == [
        (*METRICS, "--violation", "--json"),
        (*METRICS, "--throttle", "--json"),
        (*METRICS, "--json"),
        ("rocm-smi", "--showuse", "--showpower", "--showclocks", "--showtemp", "--showmeminfo", "vram", "--json"),
    ]


def test_the_list_of_rocm_6_and_the_object_of_rocm_7() -> None:
    assert parse_metrics(json.dumps([metric()])) == [SAMPLE]
    assert parse_metrics(json.dumps({"gpu_data": [metric()]})) == [SAMPLE]
    assert parse_metrics(f"WARNING: User is missing the following required groups\n{json.dumps([metric()])}") == [
        SAMPLE
    ]


def test_the_plain_numbers_of_older_versions() -> None:
    old = {
        "gpu": 1,
        "usage": {"gfx_activity": "12 %"},
        "power": {"current_power": "35 W", "throttle_status": "UNTHROTTLED"},
        "clock": {"gfx": {"cur_clk": "800 MHz"}, "mem": {"cur_clk": 1600}},
        "temperature": {"edge": 44, "hotspot": "N/A"},
        "mem_usage": {"total_vram": 65520, "used_vram": 26},
    }
    assert parse_metrics(json.dumps([old])) == [GpuSample(1, 12.0, 35.0, 800.0, 1600.0, 26.0, 65520.0, 44.0, [])]


def test_violations_are_reasons() -> None:
    violations = {
        "accumulation_counter": 11240028,
        "prochot_violation_status": "NOT ACTIVE",
        "ppt_violation_status": "ACTIVE",
        "socket_thermal_violation_status": "ACTIVE",
        "hbm_thermal_violation_status": "N/A",
        "low_utilization_violation_status": "ACTIVE",
        "ppt_violation_activity": value(7, "%"),
    }
    assert parse_metrics(json.dumps([metric(throttle=violations)]))[0].throttle == ["ppt", "socket_thermal"]
    unknown = dict.fromkeys(violations, "N/A")
    assert parse_metrics(json.dumps([metric(throttle=unknown)]))[0].throttle is None
    throttled = metric(power={"throttle_status": "THROTTLED"})
    assert parse_metrics(json.dumps([throttled]))[0].throttle == ["throttled"]


def test_what_a_gpu_does_not_have_is_unknown() -> None:
    nothing = dict.fromkeys(("usage", "power", "clock", "temperature", "mem_usage"), "N/A")
    assert parse_metrics(json.dumps([metric(**nothing), {"gpu": 1}])) == [GpuSample(0), GpuSample(1)]


def test_the_cards_of_rocm_smi() -> None:
    cards = {
        "card0": {
            "GPU use (%)": "88",
            "Current Socket Graphics Package Power (W)": "550.0",
            "sclk clock speed:": "(2100Mhz)",
            "sclk clock level:": "1",
            "mclk clock speed:": "(1300Mhz)",
            "Temperature (Sensor edge) (C)": "N/A",
            "Temperature (Sensor junction) (C)": "72.0",
            "VRAM Total Memory (B)": "206141652992",
            "VRAM Total Used Memory (B)": "102760448000",
        },
        "card1": {
            "Average Graphics Package Power (W)": "28.123",
            "GPU use (%)": 3,
            "Temperature (Sensor edge) (C)": "43.0",
        },
        "system": {"Driver version": "6.10.5"},
    }
    text = f"\n\nWARNING: AMD GPU device(s) is/are in a low-power state.\n{json.dumps(cards)}\n"
    assert parse_cards(text) == [
        GpuSample(0, 88.0, 550.0, 2100.0, 1300.0, 98000.0, 196592.0, 72.0),
        GpuSample(1, 3.0, 28.123, temperature_c=43.0),
    ]


def test_what_is_no_answer_has_no_gpu() -> None:
    for text in (
        "",
        "usage: amd-smi …",
        "AmdSmiInvalidParameterException: '--violation'",
        "[1, null]",
        '{"gpu_data": 1}',
    ):
        assert parse_metrics(text) == []
        assert parse_cards(text) == []
