# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks had failed when torchrun ends the others, by a context of torch's shape."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.torchrun import _shorten_close

CODES: list[int | None] = [None, None, 7, 0, -signal.SIGSEGV, -signal.SIGTERM]


class PContext:
    """Six ranks that ended with these codes (None: living); rank 101 has recorded its exception."""

    def __init__(self, folder: Path, failures: dict[int, Any]) -> None:
        self._failures = failures
        self.codes = list(CODES)
        self.error_files = {number: str(folder / f"rank_{number}.json") for number in range(len(CODES))}
        self.envs = {number: {"RANK": str(100 + number)} for number in range(len(CODES))}
        self.timeouts: list[float] = []
        Path(self.error_files[1]).write_text("{}")

    @property
    def subprocess_handlers(self) -> dict[int, Any]:
        return {
            number: SimpleNamespace(proc=SimpleNamespace(poll=lambda code=code: code))
            for number, code in enumerate(self.codes)
        }

    def close(self, death_sig: Any = None, timeout: float = 30) -> None:
        self.timeouts.append(timeout)
        self.codes = [-signal.SIGKILL if code is None else code for code in self.codes]


@pytest.mark.parametrize("failures", [{}, {2: "torchrun has seen this one"}], ids=["unseen", "seen"])
def test_ranks_that_failed_before_the_signal(failures: dict[int, Any], tmp_path: Path) -> None:
    """Also where torchrun has seen one: SIGTERM to torchrun while it waits for the others loses its own list."""
    processes = SimpleNamespace(PContext=type("Context", (PContext,), {}))
    reader, report = os.pipe()
    early_failures = _shorten_close(processes, report, 5.0)
    context = processes.PContext(tmp_path, failures)
    context.close()
    context.close()
    os.close(report)
    codes = {record["rank"]: record["code"] for record in early_failures.values()}
    assert codes == {101: 1, 102: 7, 104: -signal.SIGSEGV}
    assert context.timeouts == [5.0, 5.0]
    assert os.read(reader, 100) == (b'[{"closing": true}]\n' * 2 if failures else b"")
    os.close(reader)
