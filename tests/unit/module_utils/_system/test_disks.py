# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks: what a directory lies on."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._records.system import Disk
from ansible_collections.muster.train.plugins.module_utils._system.disks import read_disk
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder


def test_a_directory_of_this_machine(tmp_path: Path) -> None:
    result, state = read_disk(LiveHost(), str(tmp_path)), os.statvfs(tmp_path)
    assert result.path == str(tmp_path)
    assert result.size_bytes == state.f_blocks * state.f_frsize
    assert result.free_bytes is not None
    assert 0 < result.free_bytes <= result.size_bytes
    assert result.read_only is False
    assert result.mount_point is not None
    assert tmp_path.is_relative_to(result.mount_point)


def test_what_has_no_limit_of_inodes(tmp_path: Path) -> None:
    result = read_disk(LiveHost(), "/proc")
    assert (result.filesystem, result.mount_point, result.free_inodes) == ("proc", "/proc", None)


def test_a_directory_that_is_yet_to_be_made_and_a_link(tmp_path: Path) -> None:
    mounts = "29 1 259:2 / / rw - ext4 /dev/md0 rw\n88 29 9:1 / /raid rw - xfs /dev/md1 rw\n"
    manifest = {"files": {"/proc/self/mountinfo": mounts, "/raid/x": ""}, "links": {"/data": "/raid", "/loop": "loop"}}
    machine = Machine(manifest, tmp_path)
    result = read_disk(machine, "/data/sets/new")
    assert (result.path, result.mount_point, result.filesystem) == ("/data/sets/new", "/raid", "xfs")
    assert read_disk(machine, "/home/me").mount_point == "/"
    assert read_disk(machine, "/loop") == Disk("/loop")


@needs_root
@pytest.mark.parametrize(("mode", "is_usable"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_root_uses_no_directory_that_others_could_replace(mode: int, is_usable: bool) -> None:
    with open_folder() as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        scratch.chmod(mode)
        assert read_disk(LiveHost(), str(scratch)).usable is is_usable
        assert as_nobody(lambda: bool(read_disk(LiveHost(), str(scratch)).usable)) is (mode != 0o755)


def test_mounts_unknown(tmp_path: Path) -> None:
    result = read_disk(Machine({}, tmp_path), "/x")
    assert (result.mount_point, result.filesystem) == (None, None)
    assert result.size_bytes is not None


def test_writing_is_tried_only_when_asked_and_leaves_nothing(tmp_path: Path) -> None:
    assert read_disk(LiveHost(), str(tmp_path)).writable is None
    result = read_disk(LiveHost(), f"{tmp_path}/yet/to/be/made", probe=True)
    assert (result.writable, result.write_error) == (True, None)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    host = OwnMachine({"directories": ["/raid"]}, tmp_path)
    host.system.writes = {f"{tmp_path}/raid": errno.ENOSPC}
    result = read_disk(host, "/raid/muster", probe=True)
    assert (result.writable, result.write_error) == (False, os.strerror(errno.ENOSPC))


def test_in_a_checkout_nothing_gets_a_name_that_git_could_see(tmp_path: Path) -> None:
    host = OwnMachine({"directories": ["/raid/code/.git", "/raid/code/out", "/raid/work"]}, tmp_path)
    for path in ("/raid/code/out/yet", "/raid/work"):
        read_disk(host, path, probe=True)
    assert host.system.tried == [(f"{tmp_path}/raid/code/out", False), (f"{tmp_path}/raid/work", True)]


def test_nothing_is_written_below_another_root(tmp_path: Path) -> None:
    host = OwnMachine({"directories": ["/raid"]}, tmp_path)
    host.is_live = False
    host.system.writes = {f"{tmp_path}/raid": errno.ENOSPC}
    assert read_disk(host, "/raid", probe=True).writable is None
