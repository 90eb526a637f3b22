# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run whose storage refuses the last state for a while: a file in place of the run's directory does."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.plugins.module_utils.runner.last_state import LastState
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, run_path
from ansible_collections.muster.train.plugins.module_utils.runner.requests import StopRequests
from ansible_collections.muster.train.plugins.module_utils.runner.state import State, identity
from ansible_collections.muster.train.plugins.module_utils.runner.upkeep import Upkeep
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare, spawn, state_of, wait_for

CODE = """
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)
"""
PATIENCE_S = 60.0


def refuse(job: Job) -> None:
    os.rename(job.run_dir, job.run_dir + ".aside")
    Path(job.run_dir).touch()


def accept(job: Job) -> None:
    os.unlink(job.run_dir)
    os.rename(job.run_dir + ".aside", job.run_dir)


@pytest.fixture
def refused(tmp_path: Path) -> Iterator[tuple[Job, subprocess.Popen[bytes]]]:
    """A run that has succeeded, and whose runner has not been able to write that."""
    job = make_job(tmp_path, [sys.executable, "-c", CODE])
    runner = spawn(job)
    try:
        wait_for(lambda: state_of(job).get("gang"), "its last state before the end is written")
        refuse(job)
        (tmp_path / "go").touch()
        wait_for(lambda: len(process_tree.processes_of(job.run_id, job.run_dir)) <= 1, "its rank has ended")
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.wait(3)
        yield job, runner
    finally:
        runner.kill()
        runner.wait()


@pytest.mark.slow
def test_a_state_that_was_refused_is_written_once_the_storage_takes_it(
    refused: tuple[Job, subprocess.Popen[bytes]],
) -> None:
    job, runner = refused
    accept(job)
    assert runner.wait(PATIENCE_S) == 0
    run = read_run(Host(), job.node, job.workdir, job.run_id, ["docker"])
    assert (run.phase, run.exit_code) == ("succeeded", 0)
    assert not list(Path(job.run_dir).glob("reserve*"))


@pytest.mark.slow
def test_a_stop_ends_a_runner_that_waits_to_write_its_last_state(
    refused: tuple[Job, subprocess.Popen[bytes]],
) -> None:
    job, runner = refused
    assert job.disk_wait > PATIENCE_S
    assert runner.poll() is None
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(PATIENCE_S) == 0


def last_state(job: Job, patience: float) -> tuple[LastState, State, DiskThread, Lock]:
    """Return what writes the last state of a prepared job, and its lock, which the caller releases."""
    prepare(job)
    lock = Lock(run_path(job.run_dir))
    assert lock.acquire({"run_id": job.run_id})
    upkeep, disk = Upkeep(job, job.run_dir, [lock]), DiskThread()
    upkeep.look()
    state = State(job.run_dir, identity(job), disk.put)
    state.change("drained")
    assert disk.wait(PATIENCE_S)
    return LastState(job.run_dir, disk, upkeep, StopRequests(job, job.run_dir), patience), state, disk, lock


def test_the_last_state_is_written_where_a_cleaner_has_just_been(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["true"])
    writer, state, disk, lock = last_state(job, PATIENCE_S)
    try:
        shutil.rmtree(tmp_path / ".muster")
        writer.write(state, "succeeded")
        assert disk.wait(PATIENCE_S)
        assert state.is_written
        assert state_of(job)["phase"] == "succeeded"
    finally:
        lock.release()


def test_it_is_given_up_in_the_end_and_the_time_of_the_end_stays(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["true"])
    writer, state, _disk, lock = last_state(job, 1.0)
    try:
        refuse(job)
        writer.write(state, "succeeded")
        ended = state.fields["ended"] = "2026-11-20T14:30:52Z"
        writer.wait(state)
        assert not state.is_written
        assert state.fields["ended"] == ended, "not when it was tried again"
    finally:
        lock.release()
