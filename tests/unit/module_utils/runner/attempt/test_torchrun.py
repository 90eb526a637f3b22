# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of torchrun's ranks, by objects of torch's shape."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt import launcher_report
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.torchrun import (
    _is_alone,
    _keep_store,
    _report_pids,
    _shorten_close,
)

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
    data = os.read(reader, 1000)
    os.close(reader)
    assert launcher_report.ranks_in(data, "exited") == [103]
    assert launcher_report.ranks_in(data, "running") == [100]
    assert data.count(b"closing") == (2 if failures else 0)
    assert launcher_report.is_closing(data) == bool(failures)


def test_ranks_are_ended_although_the_runner_was_killed(tmp_path: Path) -> None:
    """Its death signal may come once for each of its threads, and no process reads the report any more."""

    class Interrupted(PContext):
        def close(self, death_sig: Any = None, timeout: float = 30) -> None:
            signal.raise_signal(signal.SIGTERM)
            super().close(death_sig, timeout)

    def end(_number: int, _frame: Any) -> None:
        raise InterruptedError

    processes = SimpleNamespace(PContext=Interrupted)
    reader, report = os.pipe()
    os.close(reader)
    _shorten_close(processes, report, 5.0)
    context = processes.PContext(tmp_path, {2: "torchrun has seen this one"})
    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(InterruptedError):
            context.close()
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
        os.close(report)
    assert context.timeouts == [5.0]
    assert None not in context.codes


def test_the_pids_of_started_ranks_are_reported() -> None:
    class Started:
        def start(self) -> None:
            pids = {1: 71, 0: 72}
            self.subprocess_handlers = {
                number: SimpleNamespace(proc=SimpleNamespace(pid=pid)) for number, pid in pids.items()
            }

    reader, report = os.pipe()
    _report_pids(SimpleNamespace(PContext=Started), report)
    Started().start()
    os.close(report)
    assert launcher_report.ranks_in(os.read(reader, 1000), "pids") == [72, 71]
    os.close(reader)


@pytest.mark.parametrize(
    ("rank", "keys", "is_alone"),
    [(0, ["run/a"], True), (0, ["run/a", "/worker/attempt_0/default_pg/0"], False), (1, ["run/a"], False)],
    ids=["alone", "met", "not-the-head"],
)
def test_ranks_that_put_nothing_into_the_store_are_alone(rank: int, keys: list[str], is_alone: bool) -> None:
    class Rendezvous:
        run_id = "run"

        def __init__(self) -> None:
            self.rank, self._store = rank, SimpleNamespace(list_keys=lambda: keys)

        def next_rendezvous(self) -> str:
            return "joined"

    stores = _keep_store(SimpleNamespace(StaticTCPRendezvous=Rendezvous))
    assert Rendezvous().next_rendezvous() == "joined"
    assert _is_alone(stores) is is_alone
