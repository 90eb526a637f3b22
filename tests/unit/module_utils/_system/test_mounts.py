# SPDX-License-Identifier: GPL-3.0-or-later
"""Mounts: how the kernel writes them, and which of them holds a path."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._system.disks import Mount, filesystem_of, parse_mountinfo


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        ("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw", Mount("/mnt2", "ext3")),
        ("36 35 98:0 / /a rw - nfs4 filer:/x rw", Mount("/a", "nfs4")),
        ("36 35 98:0 / /a rw shared:1 master:2 propagate_from:3 - xfs /dev/b rw", Mount("/a", "xfs")),
        (r"36 35 0:9 / /my\040disk\0111\134x rw - fuse.sshfs me@a: rw", Mount("/my disk\t1\\x", "fuse.sshfs")),
        ("36 35 0:9 / /a - b rw shared:1 - ext4 s rw", None),
    ],
)
def test_a_line(line: str, mount: Mount | None) -> None:
    assert parse_mountinfo(line) == ([mount] if mount else [Mount("/a", "ext4")])


@pytest.mark.parametrize("text", ["", "\n", "36 35 98:0 / /a rw", "36 35 98:0 / /a rw -", "- - - - - - -", "a - ext4"])
def test_lines_that_are_not_mounts_are_left_out(text: str) -> None:
    assert parse_mountinfo(text) == []


def test_every_mount_of_this_machine() -> None:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    assert len(parse_mountinfo(text)) == len(text.splitlines())


MOUNTS = [
    Mount("/", "ext4"),
    Mount("/home", "nfs4"),
    Mount("/home/ann/disk", "xfs"),
    Mount("/auto", "autofs"),
    Mount("/auto", "nfs"),
    Mount("/homes", "lustre"),
]


@pytest.mark.parametrize(
    ("path", "filesystem"),
    [
        ("/", "ext4"),
        ("/var/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann", "nfs4"),
        ("/home/ann/disk/a", "xfs"),
        ("/home/ann/disks", "nfs4"),
        ("/homestead", "ext4"),
        ("/auto/ann", "nfs"),
    ],
)
def test_the_nearest_mount_holds_a_path(path: str, filesystem: str) -> None:
    assert filesystem_of(path, MOUNTS) == filesystem


def test_no_mount_is_no_answer() -> None:
    assert filesystem_of("/a", []) is None
    assert filesystem_of("/a", [Mount("/b", "ext4")]) is None
