# SPDX-License-Identifier: GPL-3.0-or-later
"""A function in a process that ends in time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner.pairs.apart import run_apart


def test_what_it_returns() -> None:
    assert run_apart(lambda: {"pid": os.getpid()}, 20.0) not in (None, {"pid": os.getpid()})


def test_what_it_raises() -> None:
    def fail() -> dict[str, Any]:
        raise RuntimeError("connection reset")

    assert run_apart(fail, 20.0) == {"error": "RuntimeError: connection reset"}


def test_a_process_that_dies_early() -> None:
    def die() -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    answer = run_apart(die, 20.0)
    assert answer is not None and list(answer) == ["error"]


def test_one_that_hangs_is_gone(tmp_path: Path) -> None:
    def hang() -> dict[str, Any]:
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(600)
        return {}

    assert run_apart(hang, 0.5) is None
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()
