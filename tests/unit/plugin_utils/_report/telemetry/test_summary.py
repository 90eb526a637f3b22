# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of telemetry made few."""

from __future__ import annotations

import dataclasses
import json

from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.samples import read_node
from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.summary import (
    MOST_POINTS,
    GpuSummary,
    summarize,
    with_outliers,
)
from ansible_collections.muster.train.tests.support.telemetry_parts import HOT, file_lines, gpu, node, sample, telemetry

UNKNOWN = GpuSummary("node0", 0, 9, None, None, None, None, None, None, None, None)


def test_curves_are_over_the_time_and_have_the_band_of_all_gpus() -> None:
    run = summarize([node(samples=1000)])
    curves = {curve.name: curve for curve in run.gpu_curves}
    assert sorted(curves) == ["clock_mhz", "memory_mib", "power_w", "temperature_c", "utilization"]
    clock = curves["clock_mhz"]
    assert (len(clock.steps), clock.steps[-1]) == (MOST_POINTS, 9990.0)
    assert (clock.lows[0], clock.values[0], clock.highs[0]) == (1200.0, 1755.0, 1755.0)
    received = next(curve for curve in run.host_curves if curve.name == "received")
    assert (received.lows[0], received.highs[-1]) == (5_000_001_000, 5_000_999_000)


def test_a_gpu_in_numbers() -> None:
    hot = summarize([node()]).gpus[HOT]
    assert (hot.utilization, hot.power_w, hot.clock_mhz, hot.temperature_c) == (97.0, 602.0, 1200.0, 91.0)
    assert hot.throttled == {"sw_power_cap": 1.0, "hw_thermal_slowdown": 1.0}
    assert hot.troubles == ["hw_thermal_slowdown"]


def test_the_gpus_that_stand_out_are_marked() -> None:
    gpus = summarize([node(gpus=8)]).gpus
    assert [part.outlier for part in gpus] == [["clock_mhz", "temperature_c"] if n == HOT else [] for n in range(8)]
    assert [part.troubles for part in gpus if part.index != HOT] == [[]] * 7


def test_few_gpus_equal_ones_and_small_differences_do_not_stand_out() -> None:
    def outliers(*values: float) -> list[int]:
        gpus = [dataclasses.replace(UNKNOWN, index=index, utilization=value) for index, value in enumerate(values)]
        marked = with_outliers(gpus)
        return [part.index for part in marked if part.outlier]

    assert outliers(90, 10, 90) == []
    assert outliers(90, 90, 90, 90) == []
    assert outliers(90, 90, 90, 82) == []
    assert outliers(90, 90, 90, 80) == [3]
    assert outliers(20, 50, 90, 70, 40) == []


def test_nodes_without_gpus_and_without_samples() -> None:
    run = summarize([read_node("node0", file_lines([sample(0), sample(1)])), read_node("node1", [])])
    assert (run.gpus, run.gpu_curves, [host.node for host in run.hosts]) == ([], [], ["node0"])
    assert [(note.node, note.kind) for note in run.notes] == [("node1", "empty")]
    assert summarize([]).hosts == []


def test_a_single_sample_is_a_point() -> None:
    run = summarize([read_node("node0", file_lines([sample(0, [gpu(0)])]))])
    assert [(curve.name, list(curve.steps)) for curve in run.gpu_curves][:1] == [("utilization", [0.0])]


def test_it_is_plain_data() -> None:
    data = telemetry().to_dict()
    assert json.loads(json.dumps(data)) == data
