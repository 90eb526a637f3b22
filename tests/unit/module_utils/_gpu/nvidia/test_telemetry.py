# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what nvidia-smi says that GPUs do."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.telemetry import SOURCES, parse_samples
from ansible_collections.muster.train.plugins.module_utils._records.telemetry import GpuSample

FIELDS = "index,utilization.gpu,power.draw,clocks.sm,clocks.mem,memory.used,memory.total,temperature.gpu"
# Driver 550 on two H100, the second of which is at its power limit and too hot.
DRIVER_550 = """\
0, 97, 612.34, 1755, 2619, 70123, 81559, 64, 0x0000000000000000
1, 100, 699.98, 1410, 2619, 70124, 81559, 87, 0x0000000000000024
"""


def test_the_whole_commands() -> None:
    assert [source.argv for source in SOURCES] == [
        ("nvidia-smi", f"--query-gpu={FIELDS}{more}", "--format=csv,noheader,nounits")
        for more in (",clocks_event_reasons.active", ",clocks_throttle_reasons.active", "")
    ]


def test_a_row_is_a_gpu() -> None:
    assert SOURCES[0].parse(DRIVER_550) == [
        GpuSample(0, 97.0, 612.34, 1755.0, 2619.0, 70123.0, 81559.0, 64.0, []),
        GpuSample(1, 100.0, 699.98, 1410.0, 2619.0, 70124.0, 81559.0, 87.0, ["sw_power_cap", "sw_thermal_slowdown"]),
    ]


def test_a_query_without_reasons_has_rows_without_them() -> None:
    rows = "0, 5, 70.10, 345, 405, 0, 16384, 33\n"
    assert SOURCES[2].parse(rows) == [GpuSample(0, 5.0, 70.1, 345.0, 405.0, 0.0, 16384.0, 33.0, None)]
    assert SOURCES[0].parse(rows) == []  # a column is missing, and nothing tells which


def test_values_that_a_gpu_does_not_have_are_unknown() -> None:
    # A GPU in MIG mode; an integrated one; one that has fallen off the bus.
    rows = """\
0, [N/A], 412.00, 1980, 2619, 40960, 81559, 51, 0x0000000000000000
1, 3, [N/A], 208, [N/A], [N/A], [N/A], 42, [Not Supported]
2, [Unknown Error], [Unknown Error], [GPU is lost], [Unknown Error], 0, 81559, [Unknown Error], [Unknown Error]
"""
    assert parse_samples(rows, has_reasons=True) == [
        GpuSample(0, None, 412.0, 1980.0, 2619.0, 40960.0, 81559.0, 51.0, []),
        GpuSample(1, 3.0, None, 208.0, None, None, None, 42.0, None),
        GpuSample(2, memory_mib=0.0, memory_total_mib=81559.0),
    ]


def test_units_and_idle_gpus() -> None:
    row = "0, 0 %, 68.12 W, 345 MHz, 2619 MHz, 4 MiB, 81559 MiB, 31, 0x0000000000000001"
    assert parse_samples(row, has_reasons=True) == [GpuSample(0, 0.0, 68.12, 345.0, 2619.0, 4.0, 81559.0, 31.0, [])]


def test_what_is_no_row_is_left_out() -> None:
    for text in (
        'Field "clocks_event_reasons.active" is not a valid field to query.\n',
        "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "index, utilization.gpu, power.draw, clocks.sm, clocks.mem, memory.used, memory.total, temperature.gpu, x\n",
        "",
    ):
        assert parse_samples(text, has_reasons=True) == []
