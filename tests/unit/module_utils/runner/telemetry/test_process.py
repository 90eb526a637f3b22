# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the sampler beside real runners."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.gang import SLEEP, Running, make_gang, python
from ansible_collections.muster.train.tests.support.jobs import wait_for

ROW = "0, 97, 612.34, 1755, 2619, 70123, 81559, 64, 0x0000000000000040"


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what makes an nvidia-smi of a text for a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(text: str) -> None:
        (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "nvidia-smi").chmod(0o755)

    return make


@contextmanager
def started(tmp_path: Path, argv: list[str], **changes: Any) -> Iterator[Running]:
    running = Running(make_gang(tmp_path, [argv], **{"telemetry": 1, **changes}))
    try:
        running.start()
        yield running
    finally:
        running.end()


def samples(running: Running) -> list[dict[str, Any]]:
    path = Path(running.jobs[0].run_dir, "telemetry.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def others(running: Running) -> list[Process]:
    """Return what runs below the runner besides its launcher."""
    launcher = (running.state(0).get("launcher") or {}).get("pid")
    return [known for known in process_tree.descendants(running.runners[0].pid) if known.session != launcher]


def test_samples_have_the_gpus_and_end_with_the_run(tmp_path: Path, tools: Callable[[str], None]) -> None:
    tools(f"echo '{ROW}'")
    with started(tmp_path, SLEEP) as running:
        wait_for(lambda: len(samples(running)) >= 2, "two samples", 60)
        sampler = others(running)
        running.runners[0].terminate()
        assert running.codes() == [0]
        assert running.state(0)["phase"] == "stopped"
        known = samples(running)[1]
        gpu = known["gpus"][0]
        assert (gpu["index"], gpu["power_w"], gpu["throttle"]) == (0, 612.34, ["hw_thermal_slowdown"])
        assert known["memory_total_mib"] > 0
        assert [process_tree.look(process.pid) for process in sampler] == [None] * len(sampler)
        assert Path(running.jobs[0].run_dir, "runner.log").read_text() == ""


def test_a_tool_that_hangs_delays_neither_the_ranks_nor_the_end(tmp_path: Path, tools: Callable[[str], None]) -> None:
    tools("trap '' TERM HUP; echo $$ > \"$0.pid\"; sleep 600 & wait; sleep 600")
    with started(tmp_path, python("import time; time.sleep(3)"), background_wait=600) as running:
        hung = tmp_path / "bin" / "nvidia-smi.pid"
        wait_for(lambda: hung.exists() and hung.read_text().strip(), "the tool", 60)
        assert running.codes(60) == [0]
        assert running.state(0)["phase"] == "succeeded"
        wait_for(lambda: process_tree.look(int(hung.read_text())) is None, "the end of the tool", 10)


def test_a_runner_that_is_killed_takes_its_sampler_and_the_tool_along(
    tmp_path: Path, tools: Callable[[str], None]
) -> None:
    tools('echo $$ > "$0.pid"; exec sleep 600')
    with started(tmp_path, SLEEP) as running:
        hung = tmp_path / "bin" / "nvidia-smi.pid"
        wait_for(lambda: hung.exists() and hung.read_text().strip(), "the tool", 60)
        left = others(running)
        assert int(hung.read_text()) in [process.pid for process in left]
        launcher = int(running.state(0)["launcher"]["pid"])
        running.runners[0].kill()
        wait_for(lambda: not any(process_tree.look(process.pid) for process in left), "the end of all", 10)
        os.kill(launcher, signal.SIGKILL) if process_tree.look(launcher) else None


def test_without_telemetry_nothing_is_started(tmp_path: Path) -> None:
    with started(tmp_path, python("import time; time.sleep(1)"), telemetry=0) as running:
        running.wait_phase("running")
        assert others(running) == []
        assert running.codes() == [0]
        assert samples(running) == []


def test_the_state_has_the_times_of_the_first_and_the_last_step(tmp_path: Path) -> None:
    code = "import time\nfor step in range(1, 5): print(f'step {step}', flush=True); time.sleep(1)"
    with started(tmp_path, python(code), telemetry=0, launcher="python") as running:
        assert running.codes() == [0]
        state = running.state(0)
        assert state["started"] <= state["first_step"] < state["last_step"] <= state["ended"]
