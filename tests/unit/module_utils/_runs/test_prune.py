# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what may go of ended runs, and above all of what stays."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import READ_LIMIT, Host
from ansible_collections.muster.train.plugins.module_utils._runs.prune import remove_run
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc
from ansible_collections.muster.train.plugins.module_utils.runner import locks
from ansible_collections.muster.train.tests.support.ended_runs import DAY, NOW, make, prune


@pytest.mark.parametrize(
    ("clock", "controller", "why"),
    [
        (400 * DAY, 400 * DAY, "its file system's time is 400.0 days behind the node's clock"),
        (0, -3 * DAY, "its file system's time is 3.0 days ahead of the controller's clock"),
        (-7200, None, "its file system's time is 2.0 hours ahead of the node's clock"),
    ],
)
def test_no_run_is_old_by_a_wrong_clock(tmp_path: Path, clock: int, controller: int | None, why: str) -> None:
    path = make(tmp_path, "run", 31)
    now = time.time()  # NOW is as old as the whole test run
    done = prune(tmp_path, now=now + clock, controller=None if controller is None else now + controller)
    assert (done["removed"], path.is_dir()) == ([], True)
    (kept,) = done["kept"]
    assert kept["why"].startswith(why) and kept["why"].endswith(": one of them is wrong")
    assert sorted(os.listdir(path.parent)) == ["run"]


def test_a_run_from_the_future_tells_that_the_clock_was_set_back(tmp_path: Path) -> None:
    make(tmp_path, "future", -2)
    path = make(tmp_path, "old", 31)
    done = prune(tmp_path)
    assert path.is_dir()
    why = "its file system's time is 2.0 days behind its newest run: the clock was set back"
    assert done["kept"] == [{"kind": "run", "name": "old", "why": why}]


def test_a_run_is_as_young_as_its_newest_file(tmp_path: Path) -> None:
    path = make(tmp_path, "run", 400)  # a clock that was wrong when it ended
    os.utime(path / "state.json")
    assert prune(tmp_path)["removed"] == []
    assert path.is_dir()


def test_old_runs_go_and_young_ones_stay(tmp_path: Path) -> None:
    old, young = make(tmp_path, "old", 31), make(tmp_path, "young", 29)
    predicted = prune(tmp_path, check=True)
    assert old.is_dir()
    done = prune(tmp_path)
    assert predicted == done
    assert done["changed"] is True
    assert (done["removed"], done["kept"]) == ([{"kind": "run", "name": "old"}], [])
    assert not old.exists() and young.is_dir()
    assert sorted(os.listdir(young.parent)) == ["young"]
    again = prune(tmp_path)
    assert (again["changed"], again["removed"]) == (False, [])


def test_days_can_be_chosen(tmp_path: Path) -> None:
    path = make(tmp_path, "old", 400)
    assert prune(tmp_path, days=None)["changed"] is False
    assert path.is_dir()
    make(tmp_path, "new", 0)
    assert len(prune(tmp_path, days=0)["removed"]) == 2


def test_a_run_that_lives_stays(tmp_path: Path) -> None:
    path = make(tmp_path, "live", 90, phase="running", ended=None, started=utc(NOW - 90 * DAY))
    for name in ("state.json", "."):
        os.utime(path / name, (NOW - 90 * DAY,) * 2)
    lock = locks.Lock(locks.run_path(str(path)))
    assert lock.acquire({"run_id": "live"})
    try:
        done = prune(tmp_path)
    finally:
        lock.release()
    assert (done["changed"], done["removed"]) == (False, [])
    assert done["kept"] == [{"kind": "run", "name": "live", "why": "it is running: stop it first"}]
    assert (path / "state.json").is_file()


def test_a_runner_that_starts_after_the_check_keeps_its_run(tmp_path: Path) -> None:
    path = make(tmp_path, "again", 90)
    lock = locks.Lock(locks.run_path(str(path)))
    assert lock.acquire({"run_id": "again"})
    try:
        assert remove_run(Host(), str(tmp_path), "node0", "again") == "a runner has started in it"
    finally:
        lock.release()
    assert (path / "state.json").is_file()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: (path / "state.json").write_text('{"run_id": "other", "phase": "failed"}'), "do not name"),
        (lambda path: (path / "state.json").write_text("[]"), "do not name"),
        (lambda path: path.rename(path.with_name("x")) and path.symlink_to("x"), "it is a link"),
    ],
)
def test_a_directory_that_is_not_clearly_a_run_stays(change: Any, why: str, tmp_path: Path) -> None:
    path = make(tmp_path, "old", 90)
    change(path)
    for name in ("state.json", "."):
        os.utime(path / name, (NOW - 90 * DAY,) * 2)
    done = prune(tmp_path)
    kept = {item["name"]: item["why"] for item in done["kept"]}
    assert why in kept["old"]
    assert (path / "logs" / "rank_00.log").read_text() == "hello\n"


def test_directories_without_a_mark_are_not_looked_at(tmp_path: Path) -> None:
    mine = tmp_path / ".muster" / "nodes" / "node0" / "runs" / "results"
    mine.mkdir(parents=True)
    (tmp_path / ".muster" / "nodes" / "node0" / "runs" / ".hidden").mkdir()
    assert prune(tmp_path, days=0) == {"changed": False, "removed": [], "kept": [], "engine": None, "failed_on": []}
    assert mine.is_dir()


def test_links_in_a_run_are_not_followed(tmp_path: Path) -> None:
    path, precious = make(tmp_path, "old", 90), tmp_path / "precious"
    precious.mkdir()
    (precious / "model.pt").write_text("weights")
    (path / "outputs").symlink_to(precious)
    os.utime(path, (NOW - 90 * DAY, NOW - 90 * DAY))
    assert prune(tmp_path)["removed"]
    assert (precious / "model.pt").read_text() == "weights"


def mounted(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """The machine's table of mounts says this from now on."""
    read = Host.read_text

    def shown(self: Host, path: str, limit: int = READ_LIMIT) -> str | None:
        return text if path == "/proc/self/mountinfo" else read(self, path, limit)

    monkeypatch.setattr(Host, "read_text", shown)


@pytest.mark.parametrize("inside", ["", "/logs", "/my data"])
def test_what_is_mounted_in_a_run_stays(inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, beside = make(tmp_path, "old", 90), make(tmp_path, "old2", 90)
    # A bind mount of the same file system: device 8:1 is the root's too.
    table = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 20 8:1 /data {} rw - ext4 /dev/sda1 rw\n"
    point = f"{os.path.realpath(path)}{inside}"
    mounted(monkeypatch, table.format(point.replace(" ", r"\040")))
    done = prune(tmp_path)
    [kept] = done["kept"]
    assert (kept["name"], kept["why"]) == ("old", f"something is mounted in it, at {point}")
    assert path.is_dir() and not beside.exists()


def test_where_mounts_are_not_known_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path, "old", 90)
    mounted(monkeypatch, None)
    [kept] = prune(tmp_path)["kept"]
    assert kept["why"] == "/proc/self/mountinfo could not be read, so mounts in it are unknown"
    assert path.is_dir()


def test_what_is_mounted_after_the_check_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leftover = tmp_path / ".muster" / "nodes" / "node0" / "runs" / ".gone.old"
    (leftover / "data").mkdir(parents=True)
    mounted(monkeypatch, f"36 20 8:1 /data {os.path.realpath(leftover)}/data rw - ext4 /dev/sda1 rw\n")
    assert prune(tmp_path)["failed_on"] == [
        f"{leftover}: something is mounted in it, at {os.path.realpath(leftover)}/data"
    ]
    assert (leftover / "data").is_dir()


def test_a_launch_that_is_just_laid_out_stays(tmp_path: Path) -> None:
    path = tmp_path / ".muster" / "nodes" / "node0" / "runs" / "new"
    path.mkdir(parents=True)
    (path / "job.json").write_text('{"run_id": "new"}')
    [kept] = prune(tmp_path, days=0)["kept"]
    assert kept["why"] == "it has been prepared for less than an hour"
    for name in (".", "job.json"):
        os.utime(path / name, (NOW - 2 * DAY,) * 2)
    assert prune(tmp_path, days=1)["removed"] == [{"kind": "run", "name": "new"}]


def test_an_interrupted_removal_is_finished(tmp_path: Path) -> None:
    leftover = tmp_path / ".muster" / "nodes" / "node0" / "runs" / ".gone.old"
    leftover.mkdir(parents=True)
    assert prune(tmp_path, check=True)["changed"] is True
    assert leftover.is_dir()
    assert prune(tmp_path)["changed"] is True
    assert not leftover.exists()
    assert prune(tmp_path)["changed"] is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove anything")
def test_what_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    path = make(tmp_path, "old", 90)
    (path / "logs").chmod(0o500)
    try:
        assert "rank_00.log: Permission denied" in prune(tmp_path)["failed_on"][0]
    finally:
        for folder in tmp_path.glob(".muster/nodes/node0/runs/*/logs"):
            folder.chmod(0o700)
