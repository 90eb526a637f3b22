# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what may go of ended runs, and above all of what stays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import READ_LIMIT, Host
from ansible_collections.muster.train.plugins.module_utils._runs.prune import remove_run
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc
from ansible_collections.muster.train.plugins.module_utils.runner import locks
from ansible_collections.muster.train.tests.support.ended_runs import DAY, NOW, make, prune

RUNS = Path(".muster", "nodes", "node0", "runs")


def by_clocks(root: Path, node: int, controller: int | None) -> dict[str, Any]:
    """Prune an old run by clocks that are so many seconds ahead."""
    make(root, "old", 31)
    now = time.time()  # NOW is as old as the whole test run
    return prune(root, now=now + node, controller=None if controller is None else now + controller)


def beside_a_future_run(root: Path) -> dict[str, Any]:
    make(root, "future", -2)
    make(root, "old", 31)
    return prune(root)


def while_it_lives(root: Path) -> dict[str, Any]:
    path = make(root, "old", 90, phase="running", ended=None, started=utc(NOW - 90 * DAY))
    lock = locks.Lock(locks.run_path(str(path)))
    assert lock.acquire({"run_id": "old"})
    try:
        return prune(root)
    finally:
        lock.release()


def with_state(root: Path, state: str) -> dict[str, Any]:
    """Prune an old run with another state, or behind a link."""
    path = make(root, "old", 90)
    if state:
        (path / "state.json").write_text(state)
    else:
        path.rename(path.with_name("x")).joinpath("..", "old").symlink_to("x")
    for name in ("state.json", "."):
        os.utime(path / name, (NOW - 90 * DAY,) * 2)
    return prune(root)


def without_mounts(root: Path) -> dict[str, Any]:
    make(root, "old", 90)
    with pytest.MonkeyPatch.context() as patch:
        mounted(patch, None)
        return prune(root)


STAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "both clocks are far ahead": lambda root: by_clocks(root, 400 * DAY, 400 * DAY),
    "the controller's clock is behind": lambda root: by_clocks(root, 0, -3 * DAY),
    "the node's clock is behind": lambda root: by_clocks(root, -7200, None),
    "a run of the future is beside it": beside_a_future_run,
    "it lives": while_it_lives,
    "its state is another run's": lambda root: with_state(root, '{"run_id": "other", "phase": "failed"}'),
    "its state is none": lambda root: with_state(root, "[]"),
    "it is a link": lambda root: with_state(root, ""),
    "mounts are not known": without_mounts,
}


@pytest.mark.parametrize("act", STAYS.values(), ids=STAYS)
def test_a_run_that_is_not_clearly_old_and_ended_stays(act: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    done = act(tmp_path)
    assert (done["changed"], done["removed"]) == (False, [])
    assert "old" in [item["name"] for item in done["kept"] if item["kind"] == "run" and item["why"]]
    assert (tmp_path / RUNS / "old" / "logs" / "rank_00.log").read_text() == "hello\n"


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


def started_after_the_check(root: Path) -> str | None:
    """What keeps a run from being removed in which a runner starts meanwhile."""
    lock = locks.Lock(locks.run_path(str(make(root, "again", 90))))
    assert lock.acquire({"run_id": "again"})
    try:
        return remove_run(Host(), str(root), "node0", "again")
    finally:
        lock.release()


def test_a_runner_that_starts_after_the_check_keeps_its_run(tmp_path: Path) -> None:
    assert started_after_the_check(tmp_path)
    assert (tmp_path / RUNS / "again" / "state.json").is_file()


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


def mounted_in(root: Path, inside: str) -> dict[str, Any]:
    """Prune two old runs, in the first of which there is a mount."""
    point = f"{os.path.realpath(make(root, 'old', 90))}{inside}"
    make(root, "old2", 90)
    # A bind mount of the same file system: device 8:1 is the root's too.
    table = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 20 8:1 /data {} rw - ext4 /dev/sda1 rw\n"
    with pytest.MonkeyPatch.context() as patch:
        mounted(patch, table.format(point.replace(" ", r"\040")))
        return prune(root)


@pytest.mark.parametrize("inside", ["", "/logs", "/my data"])
def test_what_is_mounted_in_a_run_stays(inside: str, tmp_path: Path) -> None:
    [kept] = mounted_in(tmp_path, inside)["kept"]
    assert kept["name"] == "old" and kept["why"].endswith(f"/old{inside}")
    assert os.listdir(tmp_path / RUNS) == ["old"]


def test_what_is_mounted_after_the_check_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leftover = tmp_path / ".muster" / "nodes" / "node0" / "runs" / ".gone.old"
    (leftover / "data").mkdir(parents=True)
    mounted(monkeypatch, f"36 20 8:1 /data {os.path.realpath(leftover)}/data rw - ext4 /dev/sda1 rw\n")
    [failure] = prune(tmp_path)["failed_on"]
    assert failure.startswith(f"{leftover}: ")
    assert (leftover / "data").is_dir()


def just_laid_out(root: Path) -> dict[str, Any]:
    (root / RUNS / "new").mkdir(parents=True)
    (root / RUNS / "new" / "job.json").write_text('{"run_id": "new"}')
    return prune(root, days=0)


def test_a_launch_that_is_just_laid_out_stays(tmp_path: Path) -> None:
    assert [item["name"] for item in just_laid_out(tmp_path)["kept"]] == ["new"]
    for name in (".", "job.json"):
        os.utime(tmp_path / RUNS / "new" / name, (NOW - 2 * DAY,) * 2)
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
