# SPDX-License-Identifier: GPL-3.0-or-later
"""The work directory: where it really is, and whether two nodes have the same one."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._system.workdir import read_workdir
from ansible_collections.muster.train.tests.support.machines import Machine, load


def test_a_directory(tmp_path: Path) -> None:
    result, state = read_workdir(LiveHost(), str(tmp_path), "m/b"), os.stat(tmp_path)
    assert (result.path, result.writable) == (str(tmp_path), True)
    assert result.identity == f"m/b/{state.st_dev}:{state.st_ino}"
    assert result.free_bytes is not None
    assert 0 < result.free_bytes < 2**60


def test_one_that_is_yet_to_be_made(tmp_path: Path) -> None:
    result, state = read_workdir(LiveHost(), f"{tmp_path}/a/b", "m/b"), os.stat(tmp_path)
    assert result.path == f"{tmp_path}/a/b"
    assert result.identity == f"m/b/{state.st_dev}:{state.st_ino}/a/b"
    assert result.writable
    assert result.free_bytes is not None


def test_two_names_of_one_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for rest in ("", "/deep/er", "/./x/../deep"):
        both = (read_workdir(LiveHost(), f"{tmp_path}/{name}{rest}", "m/b") for name in ("real", "link"))
        real, link = (dataclasses.replace(result, free_bytes=None) for result in both)  # others write meanwhile
        assert real == link
    other = read_workdir(LiveHost(), f"{tmp_path}/real/other", "m/b")
    assert other.identity != read_workdir(LiveHost(), f"{tmp_path}/real/another", "m/b").identity


def test_another_machine_or_an_unknown_one(tmp_path: Path) -> None:
    here, present = (read_workdir(LiveHost(), str(tmp_path), mark).identity for mark in ("m/b", "m/c"))
    assert here != present
    assert read_workdir(LiveHost(), str(tmp_path), None).identity is None


def test_places_where_no_directory_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert not read_workdir(LiveHost(), f"{tmp_path}/file", "m/b").writable
    assert not read_workdir(LiveHost(), f"{tmp_path}/file/below", "m/b").writable
    loop = read_workdir(LiveHost(), f"{tmp_path}/loop/x", "m/b")
    assert (loop.path, loop.identity, loop.writable, loop.free_bytes) == (f"{tmp_path}/loop/x", None, False, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(0o555)
    assert not read_workdir(LiveHost(), f"{tmp_path}/closed/x", "m/b").writable


def test_below_a_root(tmp_path: Path) -> None:
    result = read_workdir(load("laptop", tmp_path), "/home/me/muster/x", "m/b")
    state = os.stat(tmp_path / "home/me/muster")
    assert (result.path, result.identity) == ("/home/me/muster/x", f"m/b/{state.st_dev}:{state.st_ino}/x")


@pytest.mark.parametrize(
    ("machine", "path", "filesystem"),
    [
        ("laptop", "/home/me/muster", "btrfs"),
        ("hgx_h100", "/raid/muster/yet/to/be/made", "xfs"),
        ("hgx_h100", "/raidier", "ext4"),
        ("mi300x", "/home/me/muster", "nfs4"),
        ("container", "/workspace", None),
    ],
)
def test_its_file_system(tmp_path: Path, machine: str, path: str, filesystem: str | None) -> None:
    assert read_workdir(load(machine, tmp_path), path, "m/b").filesystem == filesystem


def test_a_link_has_the_file_system_that_it_leads_to(tmp_path: Path) -> None:
    machine = load("mi300x", tmp_path)
    (tmp_path / "scratch").symlink_to("/home/me")
    assert read_workdir(machine, "/scratch/muster", "m/b").filesystem == "nfs4"


def test_the_file_system_is_looked_up_where_something_exists(tmp_path: Path) -> None:
    # A mount point that is gone from the tree: what is below / will be made on /.
    mounts = "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / /gone rw - nfs4 f:/ rw\n"
    machine = Machine({"files": {"/proc/self/mountinfo": mounts}}, tmp_path)
    assert read_workdir(machine, "/gone/x", "m/b").filesystem == "ext4"


def test_locks_are_tried_where_it_can_be_written(tmp_path: Path) -> None:
    result = read_workdir(LiveHost(), f"{tmp_path}/a/b", "m/b", named=True)
    assert (result.flock, result.flock_error) == (True, None)
    assert list(tmp_path.iterdir()) == []
    assert read_workdir(LiveHost(), "/proc/sys", "m/b").flock is None
    assert read_workdir(load("laptop", tmp_path), "/home/me/muster", "m/b").flock is None
