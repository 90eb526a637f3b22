# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a run on a disk that fills up."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.ownership import give_back
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for


@pytest.fixture
def small_disk(tmp_path: Path) -> object:
    """A tmpfs of 1 MiB and 100 inodes, where this user may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=100", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> None:
    with (place / "filler").open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            pass


def use_inodes(place: Path) -> None:
    """Make empty files until there is no inode left."""
    with contextlib.suppress(OSError):
        while True:
            os.close(os.open(place / os.urandom(8).hex(), os.O_CREAT | os.O_EXCL))


EXHAUST = pytest.mark.parametrize("exhaust", [fill, use_inodes], ids=["space", "inodes"])


def test_documents_are_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    files.write_json(str(path), {"phase": "running"})
    files.write_json(str(path), {"phase": "failed"})
    assert json.loads(path.read_text()) == {"phase": "failed"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("{}")
    os.symlink(tmp_path / "victim", tmp_path / "link")
    assert files.read_json(str(tmp_path / "link")) is None
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        files.create(str(tmp_path / "link"), os.O_WRONLY)


@EXHAUST
def test_the_reserve_makes_room_for_a_request_and_the_final_state(
    exhaust: Callable[[Path], None], small_disk: Path
) -> None:
    files.reserve(str(small_disk))
    exhaust(small_disk)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        files.write_json(str(small_disk / "other.json"), {"x": "y" * 5000})
    files.write_request(str(small_disk / "stop"), {"grace": 1})
    assert files.read_json(str(small_disk / "stop")) == {"grace": 1}
    exhaust(small_disk)
    assert files.write_state(str(small_disk), "state.json", {"phase": "failed"})
    assert files.read_json(str(small_disk / "state.json")) == {"phase": "failed"}


def test_a_full_log_disk_does_not_end_the_training(small_disk: Path) -> None:
    code = """
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)
for number in range(20000):
    print("a line of the training", number, flush=True)
"""
    job = make_job(small_disk, [sys.executable, "-c", code])
    runner = spawn(job)
    wait_for(lambda: state_of(job).get("phase") == "running", "the job runs")
    (small_disk / "go").touch()
    fill(small_disk)
    assert runner.wait(60) == 0
    state = state_of(job)
    assert (state["phase"], state["exit_code"]) == ("succeeded", 0)
    assert state["log_dropped"] > 0


def test_a_disk_that_was_full_is_a_warning_of_the_run(small_disk: Path) -> None:
    """A rank that cuts its checkpoint short and ends with 0 succeeds, and its last heartbeat found no room."""
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)"
    job = make_job(small_disk, [sys.executable, "-c", code])
    runner = spawn(job)
    wait_for(lambda: state_of(job).get("gang"), "the job runs")
    (small_disk / "wait").touch()
    fill(small_disk)
    (small_disk / "wait").rename(small_disk / "go")
    assert runner.wait(60) == 0
    state = state_of(job)
    assert state["phase"] == "succeeded"
    [warning] = RunRecord.from_dict(state).warnings
    assert (warning.kind, warning.node) == ("disk_full", "node0")
    assert warning.at is not None
    assert state["started"] <= warning.at <= state["ended"]


def test_a_disk_with_room_is_no_warning(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", "pass"])
    assert spawn(job).wait(60) == 0
    assert state_of(job)["warnings"] == []


@EXHAUST
def test_a_run_on_a_full_disk_can_be_stopped(exhaust: Callable[[Path], None], small_disk: Path) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('deaf', 'w'); time.sleep(600)"
    job = make_job(small_disk, [sys.executable, "-c", deaf], stop_grace=60)
    runner = spawn(job)
    try:
        wait_for((small_disk / "deaf").exists, "it runs")
        wait_for(lambda: state_of(job).get("gang"), "its last state before the end is written")
        exhaust(small_disk)
        changed, run, _swept = stop(Host(), job.node, job.workdir, job.run_id, None, 1.0, False, ["docker"])
        # By the runner's own hand, after the grace that was asked for and not its own, which is longer.
        assert (changed, run.phase, str(run.why).partition(";")[0]) == (True, "stopped", "stop requested")
        assert runner.wait(10) == 0
    finally:
        runner.kill()
        runner.wait()


def test_where_no_request_can_be_written_a_signal_is_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", "import time; time.sleep(600)"])
    runner = spawn(job)
    try:
        wait_for(lambda: state_of(job).get("phase") == "running", "it runs")
        monkeypatch.setattr(
            files, "write_request", MagicMock(side_effect=OSError(errno.EROFS, "Read-only file system"))
        )
        changed, run, _swept = stop(Host(), job.node, job.workdir, job.run_id, None, 30.0, False, ["docker"])
        assert (changed, run.phase) == (True, "stopped")
        assert "SIGTERM" in str(run.why)
        assert runner.wait(60) == 0
    finally:
        runner.kill()
        runner.wait()


def test_a_signal_goes_to_the_launch_whose_request_cannot_be_written(small_disk: Path) -> None:
    job = make_job(small_disk, [sys.executable, "-c", "import time; time.sleep(600)"])
    run_dir, other = Path(job.run_dir), "b" * 32
    runner = spawn(job)
    try:
        wait_for(lambda: state_of(job).get("gang"), "its last state before the end is written")
        files.write_json(f"{run_dir}/job.{other}.json", {**job.to_dict(), "nonce": other})
        (run_dir / f"stop.{other}").touch()  # needs no inode any more
        (run_dir / files.REQUEST_RESERVE).unlink()
        use_inodes(small_disk)
        wait_for(lambda: not list(run_dir.glob("*.new")), "no heartbeat is being written, which frees an inode")
        use_inodes(small_disk)
        changed, run, swept = stop(Host(), job.node, job.workdir, job.run_id, None, 30.0, False, ["docker"])
        assert (changed, run.phase, swept.swept) == (True, "stopped", 0)
        assert "SIGTERM" in str(run.why)
        assert runner.wait(60) == 0
    finally:
        runner.kill()
        runner.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_give_back_changes_the_owner_inside_the_run_only(tmp_path: Path) -> None:
    mine, outside = tmp_path / "run", tmp_path / "outside"
    (mine / "checkpoints").mkdir(parents=True)
    outside.mkdir()
    for path in (mine / "metrics", mine / "checkpoints" / "last.pt", outside / "file", outside / "other"):
        path.write_text("x")
    (mine / "link").symlink_to(outside)
    os.link(outside / "other", mine / "second name")
    os.chown(mine, 65534, 65534)
    give_back(str(mine))
    owners = {path.name: path.lstat().st_uid for path in mine.rglob("*")}
    assert owners == {"metrics": 65534, "checkpoints": 65534, "last.pt": 65534, "link": 65534, "second name": 0}
    assert {path.stat().st_uid for path in (outside, *outside.iterdir())} == {0}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_give_back_survives_a_directory_that_vanishes(tmp_path: Path) -> None:
    give_back(str(tmp_path / "absent"))
    mine = tmp_path / "run"
    (mine / "below").mkdir(parents=True)
    (mine / "file").touch()
    os.chown(mine, 65534, 65534)
    give_back(str(mine), note_answer=lambda: files.remove_tree(str(mine)))
    assert not mine.exists()


def test_a_tree_is_removed_and_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    mine, outside = tmp_path / "mine", tmp_path / "outside"
    (mine / "below" / "empty").mkdir(parents=True)
    outside.mkdir()
    for path in (mine / "file", mine / "below" / "file", outside / "file"):
        path.write_text("x")
    os.mkfifo(mine / "below" / "pipe")
    (mine / "below" / "link").symlink_to(outside)
    (tmp_path / "link").symlink_to(mine)
    files.remove_tree(str(tmp_path / "link"))
    assert (mine / "file").exists()
    files.remove_tree(str(mine))
    files.remove_tree(str(mine))
    assert not mine.exists()
    assert (outside / "file").read_text() == "x"


def test_a_tree_that_is_too_deep_stays_and_ends_nothing(tmp_path: Path) -> None:
    deep = tmp_path / "top"
    deep.mkdir()
    folder = os.open(deep, os.O_RDONLY)
    for _level in range(2000):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    os.chown(deep, *((65534, 65534) if os.geteuid() == 0 else (-1, -1)))
    files.remove_tree(str(deep))
    give_back(str(deep))
    assert deep.exists()
    subprocess.run(["rm", "-rf", deep], check=True)
