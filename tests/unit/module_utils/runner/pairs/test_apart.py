# SPDX-License-Identifier: GPL-3.0-or-later
"""A function in a process that ends in time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import STALLED
from ansible_collections.muster.train.plugins.module_utils.runner.pairs import apart
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.apart import run_apart


def test_what_it_returns() -> None:
    answer = run_apart(lambda: {"parent": os.getppid(), "pid": os.getpid()}, 20.0)
    assert answer["parent"] == os.getpid() != answer["pid"]


def test_what_it_raises() -> None:
    def fail() -> dict[str, Any]:
        raise RuntimeError("connection reset")

    assert run_apart(fail, 20.0) == {"error": "RuntimeError: connection reset"}


def test_a_process_that_dies_early() -> None:
    def die() -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    answer = run_apart(die, 20.0)
    assert list(answer) == ["error"]


def hang_and_write(pid: Path) -> Callable[[], dict[str, Any]]:
    def hang() -> dict[str, Any]:
        pid.write_text(str(os.getpid()))
        time.sleep(600)
        return {}

    return hang


def test_one_that_hangs_is_gone(tmp_path: Path) -> None:
    answer = run_apart(hang_and_write(tmp_path / "pid"), 0.5)
    assert answer["outcome"] == STALLED
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_one_that_cannot_be_killed_does_not_hold_up_the_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a process that waits for a device, which no signal ends.
    monkeypatch.setattr(signal, "SIGKILL", 0)
    monkeypatch.setattr(apart, "KILL_S", 0.3)
    answer = run_apart(hang_and_write(tmp_path / "pid"), 0.5)
    monkeypatch.undo()
    child = int((tmp_path / "pid").read_text())
    try:
        assert answer["outcome"] == STALLED
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
