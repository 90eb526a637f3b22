# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the reader of samples."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.telemetry.samples import (
    NodeSamples,
    TelemetryNote,
    read_node,
)
from ansible_collections.muster.train.tests.support.telemetry_parts import BEGIN, file_lines, gpu, node, sample

DAMAGED: list[Any] = [None, [], {}, "x", 7, -1, True, math.nan, 10**400, [None], [{}], {"a": None}, [[]], "1"]


def test_a_node_has_its_host_and_its_gpus() -> None:
    known = node(gpus=2, samples=3)
    assert list(known.host.times) == [BEGIN, BEGIN + 10, BEGIN + 20]
    assert known.host.known("cpu_percent") == [12.5, 12.5]
    assert known.host.known("received") == [5_000_001_000, 5_000_002_000]
    assert known.peaks == {"eth0": (2000, 2000), "mlx5_0/1": (5e9, 4e9)}
    assert [(part.index, list(part.samples.values["power_w"]), part.judged, part.throttled) for part in known.gpus] == [
        (0, [600.0] * 3, 3, {"sw_power_cap": 3}),
        (1, [601.0] * 3, 3, {"sw_power_cap": 3}),
    ]
    assert known.notes == []


def test_what_a_gpu_does_not_have_is_unknown() -> None:
    known = read_node(
        "node0", file_lines([sample(0, [{"index": 0, "utilization": 5}]), sample(1, [{"index": 0}])])
    ).gpus[0]
    assert (known.samples.known("utilization"), known.samples.known("power_w"), known.judged) == ([5.0], [], 0)
    assert len(known.samples.values["power_w"]) == 2


def kinds(known: NodeSamples) -> list[tuple[str, int]]:
    return [(note.kind, note.count) for note in known.notes]


def test_damaged_lines_are_left_out_and_noted() -> None:
    text = file_lines([sample(0), sample(1), sample(2)])
    assert kinds(read_node("node0", [])) == [("empty", 1)]
    assert kinds(read_node("node0", [b"\n"])) == [("empty", 1)]
    damaged = read_node("node0", [text[0], b'{"time": 5', b"[]\n", b"\xff\n", b"\n", text[1], text[2][:30]])
    assert (kinds(damaged), len(damaged.host.times)) == ([("broken", 4)], 2)
    set_back = read_node("node0", [text[2], text[0], text[1]])
    assert (kinds(set_back), len(set_back.host.times)) == ([("clock", 2)], 1)


def test_the_tool_that_gave_up_is_noted() -> None:
    notes = [{"tool": "nvidia-smi", "kind": "no_answer", "seconds": 10, "calls": 3}, {"kind": 7}]
    assert read_node("node0", file_lines(sample(n, note=note) for n, note in enumerate(notes))).notes == [
        TelemetryNote("node0", "no_answer", "nvidia-smi", None, 10.0, 3),
        TelemetryNote("node0", "no_gpus", "the tool"),
    ]


@pytest.mark.parametrize("value", DAMAGED, ids=repr)
def test_no_value_is_an_exception(value: Any) -> None:
    for name in ("time", "cpu_percent", "memory_mib", "memory_total_mib", "network", "gpus", "note"):
        read_node("node0", file_lines([{**sample(1, [gpu(0)]), name: value}]))
    for name in gpu(0):
        read_node("node0", file_lines([sample(1, [{**gpu(0), name: value}])]))
    read_node("node0", file_lines([{**sample(1), "network": {"eth0": value}}, {**sample(2), "gpus": [value]}]))
