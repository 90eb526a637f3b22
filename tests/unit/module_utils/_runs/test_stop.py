# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom a stop ends: the loser of a race of two launches of one run ID must not end the winner."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs import stop
from ansible_collections.muster.train.plugins.module_utils._runs.read import run_directory

RUN_ID = "test_run"
WINNER, LOSER = "a" * 32, "b" * 32


@pytest.fixture
def runners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """A process with the marks of a runner for each of two launches."""
    monkeypatch.setattr(stop, "RUNNER_SLACK_S", 0.1)  # these processes read no request
    directory = run_directory(str(tmp_path), "node0", RUN_ID)
    os.makedirs(directory)
    marks = {**os.environ, "MUSTER_RUN_ID": RUN_ID, "MUSTER_RUN_DIR": directory, "MUSTER_ROLE": "runner"}
    with contextlib.ExitStack() as stack:
        processes = {}
        for nonce in (WINNER, LOSER):
            process = subprocess.Popen(["sleep", "60"], env={**marks, "MUSTER_NONCE": nonce})
            processes[nonce] = stack.enter_context(process)
            stack.callback(process.kill)
        yield processes


def stopped(tmp_path: Path, nonce: str | None) -> Any:
    changed, _run, _swept = stop.stop(Host(), "node0", str(tmp_path), RUN_ID, nonce, 0.0, False, ["docker"])
    return changed


def test_a_stop_of_one_launch_leaves_the_other_alone(
    tmp_path: Path, runners: dict[str, subprocess.Popen[bytes]]
) -> None:
    assert stopped(tmp_path, LOSER) is True
    assert runners[LOSER].wait(timeout=10) != 0
    assert stopped(tmp_path, LOSER) is False
    assert runners[WINNER].poll() is None


def test_a_stop_of_a_run_ends_all_of_its_launches(tmp_path: Path, runners: dict[str, subprocess.Popen[bytes]]) -> None:
    assert stopped(tmp_path, None) is True
    assert all(runner.wait(timeout=10) != 0 for runner in runners.values())
