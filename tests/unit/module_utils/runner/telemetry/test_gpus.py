# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the reader of the GPUs: which tool it asks, and when it gives up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.telemetry.gpus import (
    SOURCES,
    TOOL_S,
    GpuReader,
    ToolOutput,
    run_tool,
)

ROW = "0, 97, 612.34, 1755, 2619, 70123, 81559, 64"
HUNG = ToolOutput(None)


class Tools:
    """Answers by the program and an option; calls are the programs that were asked."""

    def __init__(self, **answers: ToolOutput) -> None:
        self.answers, self.calls = answers, list[str]()

    def __call__(self, argv: Sequence[str]) -> ToolOutput | None:
        self.calls.append(argv[0])
        return next((self.answers[name] for name in self.answers if name in " ".join(argv).replace("-", "_")), None)


def test_the_first_query_that_the_driver_takes_is_asked_again() -> None:
    refused = ToolOutput('Field "clocks_event_reasons.active" is not a valid field to query.\n', 2)
    tools = Tools(event_reasons=refused, throttle_reasons=ToolOutput(f"{ROW}, 0x0000000000000008\n", 0))
    reader = GpuReader(run=tools)
    assert [gpu.throttle for _turn in range(2) for gpu in reader.read()] == [["hw_slowdown"]] * 2
    assert tools.calls == ["nvidia-smi"] * 3
    assert reader.take_note() is None


def test_without_a_tool_nothing_is_asked_twice() -> None:
    tools = Tools()
    reader = GpuReader(run=tools)
    assert [reader.read(), reader.read()] == [[], []]
    assert len(tools.calls) == len(SOURCES)
    assert reader.take_note() is None


def test_a_tool_without_gpus_is_noted_once_unless_another_has_some() -> None:
    failed = ToolOutput("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9)
    reader = GpuReader(run=Tools(nvidia_smi=failed))
    assert reader.read() == []
    assert reader.take_note() == {"tool": "nvidia-smi", "kind": "no_gpus", "why": failed.out and failed.out.strip()}
    assert reader.take_note() is None
    reader = GpuReader(run=Tools(nvidia_smi=failed, rocm_smi=ToolOutput('{"card0": {"GPU use (%)": "3"}}', 0)))
    assert [gpu.utilization for gpu in reader.read()] == [3.0]
    assert reader.take_note() is None


def test_three_calls_without_an_answer_are_enough() -> None:
    tools = Tools(nvidia_smi=HUNG)
    reader = GpuReader(run=tools)
    notes = []
    for _turn in range(5):
        assert reader.read() == []
        notes.append(reader.take_note())
    assert tools.calls == ["nvidia-smi"] * 3
    assert notes == [None, None, {"tool": "nvidia-smi", "kind": "no_answer", "seconds": TOOL_S, "calls": 3}, None, None]


def test_a_tool_that_answers_again_is_forgiven() -> None:
    tools = Tools(nvidia_smi=ToolOutput(f"{ROW}, 0x0\n", 0))
    reader = GpuReader(run=tools)
    known = tools.answers["nvidia_smi"]
    for answer in (known, HUNG, HUNG, known, HUNG, ToolOutput("GPU is lost\n", 15), known):
        tools.answers["nvidia_smi"] = answer
        assert len(reader.read()) == (answer is known)
    assert reader.take_note() is None


def stub(folder: Path, text: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def test_a_real_tool_is_left_behind_when_its_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run_tool(["no-such-tool"]) is None
    stub(tmp_path, 'echo "$LC_ALL $*"; echo oops >&2; exit 3')
    assert run_tool(["nvidia-smi", "a", "b"]) == ToolOutput("C a b\noops\n", 3)
    stub(tmp_path, "trap '' TERM; sleep 60 & wait")
    began = time.monotonic()
    assert run_tool(["nvidia-smi"], 0.2) == HUNG
    assert time.monotonic() - began < 30
