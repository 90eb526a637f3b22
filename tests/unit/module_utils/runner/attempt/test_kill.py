# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of an attempt that SIGTERM did not end: SIGKILL comes, and the ranks are named where that is possible."""

from __future__ import annotations

import functools
import os
import selectors
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.attempt import Attempt
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.prepared import lay_out
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.tests.support.jobs import make_job, wait_for

PATIENCE_S = 60.0
DEAF = ["sh", "-c", "trap '' TERM; exec sleep 600"]


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[Attempt]:
    """An attempt whose launcher, which is rank 0, ignores SIGTERM and has been asked to stop at once."""
    job = make_job(tmp_path, DEAF, launcher="python")
    prepared = lay_out(job, str(tmp_path), os.environ)
    attempt = Attempt(job, str(tmp_path), 0, dict(os.environ), prepared, DiskThread(), selectors.DefaultSelector())
    command = functools.partial(process_tree.command, attempt.child.pid)
    wait_for(lambda: command() == "sleep", "it ignores SIGTERM", PATIENCE_S)
    attempt.stop("stop requested", 0.0)
    yield attempt
    attempt.child.signal_tree(signal.SIGKILL)
    wait_for(lambda: _is_reaped(attempt), "it is gone", PATIENCE_S)
    attempt.close()


def _is_reaped(attempt: Attempt) -> bool:
    attempt.child.reap()
    return attempt.child.code is not None


def test_a_rank_that_is_killed_is_named(attempt: Attempt) -> None:
    attempt.tick(time.monotonic())
    wait_for(lambda: _is_reaped(attempt), "it is killed", PATIENCE_S)
    assert "rank 0" in attempt.verdict()[1]["why"]


def test_a_rank_whose_environment_cannot_be_read_is_killed_too(
    attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it waits for a lock of the rank's memory; here, for a FIFO that has its place."""
    pid = attempt.child.pid
    environ = tmp_path / "proc" / str(pid) / "environ"
    environ.parent.mkdir(parents=True)
    os.mkfifo(environ)
    for name in ("stat", "comm"):
        (environ.parent / name).symlink_to(f"/proc/{pid}/{name}")
    monkeypatch.setattr(process_tree, "PROC", str(tmp_path / "proc"))
    loop = threading.Thread(target=attempt.tick, args=(time.monotonic(),), daemon=True)
    try:
        loop.start()
        loop.join(PATIENCE_S)
        assert not loop.is_alive(), "the loop goes on"
        wait_for(lambda: _is_reaped(attempt), "it is killed", PATIENCE_S)
        assert "rank 0" not in attempt.verdict()[1]["why"]
    finally:
        end = os.open(environ, os.O_RDWR)  # a reader that waits for it then gets the end of the file
        environ.unlink()
        os.close(end)
