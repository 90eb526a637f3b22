# SPDX-License-Identifier: GPL-3.0-or-later
"""A living run whose files a cleaner of /tmp removes, or would remove."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.layout import slots_dir
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._runs.listing import list_runs
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, run_path, slot_path
from ansible_collections.muster.train.plugins.module_utils.runner.upkeep import FOLDERS, Upkeep
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare, spawn, state_of, wait_for
from ansible_collections.muster.train.tests.unit.module_utils.runner.test_storage import SLEEP, runs, why_refused

OLD = 1_000_000_000


@pytest.fixture
def living(tmp_path: Path) -> Iterator[tuple[Job, subprocess.Popen[bytes]]]:
    """A run that sleeps."""
    job = make_job(tmp_path, SLEEP)
    runner = spawn(job)
    try:
        wait_for(lambda: runs(job) and state_of(job)["gang"], "it runs, and its state is written")
        yield job, runner
    finally:
        runner.kill()
        runner.wait()


def status(job: Job) -> RunRecord:
    return read_run(Host(), job.node, job.workdir, job.run_id, ["docker"])


def clean(job: Job) -> None:
    """Remove all of Muster there, against a runner that makes it again meanwhile."""
    while os.path.exists(os.path.join(job.workdir, ".muster")):
        shutil.rmtree(os.path.join(job.workdir, ".muster"), ignore_errors=True)


@pytest.mark.slow
def test_a_living_run_makes_its_files_again(living: tuple[Job, subprocess.Popen[bytes]]) -> None:
    job, runner = living
    before = state_of(job)
    clean(job)
    wait_for(lambda: state_of(job) and os.path.exists(f"{job.run_dir}/job.json"), "its files are there again")
    assert state_of(job) == before
    run = status(job)
    assert (run.phase, run.alive, run.left) == ("running", True, 0)
    assert (Lock(slot_path(job.workdir, job.node, job.slot)).holder() or {})["run_id"] == job.run_id
    changed, run, swept = stop(Host(), job.node, job.workdir, job.run_id, None, 5.0, False, ["docker"])
    assert (changed, run.phase, swept.swept) == (True, "stopped", 0)
    assert runner.wait(60) == 0


@pytest.mark.slow
def test_before_it_does_it_is_known_by_its_processes(living: tuple[Job, subprocess.Popen[bytes]]) -> None:
    job, runner = living
    runner.send_signal(signal.SIGSTOP)
    try:
        clean(job)
        run = status(job)
        assert (run.phase, run.alive, bool(run.why)) == ("running", True, True)
        second = make_job(Path(job.workdir), SLEEP, run_id="second", nonce="b" * 32)
        assert spawn(second).wait(60) == 3
        lock = slot_path(job.workdir, job.node, job.slot)
        held = f"slot 'default' is held by run {job.run_id} (pid {runner.pid}), but {lock} was removed"
        assert why_refused(second) == held
    finally:
        runner.send_signal(signal.SIGCONT)
    wait_for(lambda: status(job).phase == "running" and state_of(job), "its files are there again")


@pytest.mark.slow
def test_the_list_of_runs_knows_it_by_its_processes_too(
    living: tuple[Job, subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    job, runner = living
    link = tmp_path_factory.mktemp("home") / "scratch"
    link.symlink_to(job.workdir)
    runner.send_signal(signal.SIGSTOP)
    try:
        Path(run_path(job.run_dir)).unlink()
        for workdir in (job.workdir, str(link)):
            assert [(run.run_id, run.alive) for run in list_runs(Host(), workdir, job.node)] == [(job.run_id, True)]
    finally:
        runner.send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_removed_run_is_stopped_by_a_signal(living: tuple[Job, subprocess.Popen[bytes]]) -> None:
    job, runner = living
    clean(job)
    assert stop(Host(), job.node, job.workdir, job.run_id, None, 5.0, False, ["docker"])[0]
    assert runner.wait(60) == 0


@pytest.mark.parametrize("user", [0, 1000])
def test_a_removed_work_directory_is_made_again_except_by_root(
    user: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `rm -rf /scratch/$USER/*` removes it; root runs only where a launch has checked the path."""
    workdir = tmp_path / "work"
    workdir.mkdir()
    job = make_job(workdir, SLEEP)
    prepare(job)
    os.rename(f"{job.run_dir}/job.{job.nonce}.json", f"{job.run_dir}/job.json")
    locks = [Lock(run_path(job.run_dir)), Lock(slot_path(job.workdir, job.node, job.slot))]
    assert all(lock.acquire({"run_id": job.run_id}) for lock in locks)
    upkeep = Upkeep(job, job.run_dir, locks)
    upkeep.look()
    shutil.rmtree(workdir)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    try:
        upkeep.look()
        if user == 0:
            assert not workdir.exists()
            return
        assert Path(job.run_dir, "job.json").exists()
        assert [lock.holder() for lock in locks] == [{"run_id": job.run_id}] * 2
    finally:
        for lock in locks:
            lock.release()


def test_files_are_kept_fresh_and_directories_locked(tmp_path: Path) -> None:
    job = make_job(tmp_path, SLEEP)
    prepare(job)
    os.rename(f"{job.run_dir}/job.{job.nonce}.json", f"{job.run_dir}/job.json")
    locks = [Lock(run_path(job.run_dir)), Lock(slot_path(job.workdir, job.node, job.slot))]
    assert all(lock.acquire({"run_id": job.run_id}) for lock in locks)
    top = tmp_path / ".muster"
    for path in (top, *top.rglob("*")):
        os.utime(path, (OLD, OLD))
    Upkeep(job, job.run_dir, locks).look()
    try:
        kept = [path for path in (top, *top.rglob("*")) if path.name not in FOLDERS]
        assert len(kept) > 8
        assert [path for path in kept if path.stat().st_mtime < time.time() - 3600] == []
        # As systemd-tmpfiles tries before it cleans a directory.
        for path in filter(Path.is_dir, kept):
            descriptor = os.open(path, os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(descriptor)
    finally:
        for lock in locks:
            lock.release()


def test_the_upkeep_of_the_rest_goes_on_where_a_directory_cannot_be_kept(tmp_path: Path) -> None:
    job = make_job(tmp_path, SLEEP)
    prepare(job)
    os.rename(f"{job.run_dir}/job.{job.nonce}.json", f"{job.run_dir}/job.json")
    locks = [Lock(slot_path(job.workdir, job.node, job.slot)), Lock(run_path(job.run_dir))]
    assert all(lock.acquire({"run_id": job.run_id}) for lock in locks)
    upkeep = Upkeep(job, job.run_dir, locks)
    upkeep.look()
    slots, elsewhere = Path(slots_dir(job.workdir, job.node)), tmp_path / "elsewhere"
    try:
        shutil.rmtree(job.run_dir)
        shutil.rmtree(slots)
        elsewhere.mkdir()
        slots.symlink_to(elsewhere)
        upkeep.look()
        assert Path(job.run_dir, "job.json").exists()
        assert locks[1].holder() == {"run_id": job.run_id}
        assert list(elsewhere.iterdir()) == [], "nothing is written through a link"
        slots.unlink()
        upkeep.look()
        assert locks[0].holder() == {"run_id": job.run_id}
    finally:
        for lock in locks:
            lock.release()


def test_a_descriptor_that_cannot_be_looked_up_counts_as_removed(tmp_path: Path) -> None:
    """A closed descriptor stands for one of a directory that a file server has forgotten (ESTALE)."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert files.is_at(descriptor, str(tmp_path))
    os.close(descriptor)
    assert not files.is_at(descriptor, str(tmp_path))
    below_a_file = tmp_path / "file" / "lock"
    below_a_file.parent.touch()
    with below_a_file.parent.open() as stream:
        assert not files.is_at(stream.fileno(), str(below_a_file))
