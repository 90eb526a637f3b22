# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of who could replace a part of a path, in real directories."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.trust import (
    make_trusted,
    open_private,
    owners_below,
    untrusted_part,
)
from ansible_collections.muster.train.plugins.module_utils._records.path_part import PathPart
from ansible_collections.muster.train.tests.support.unprivileged import NOBODY, as_nobody, needs_root, open_folder


def test_a_directory_of_this_user_is_trusted(tmp_path: Path) -> None:
    assert untrusted_part(Host(), str(tmp_path)) is None
    assert untrusted_part(Host(), str(tmp_path / "not" / "there")) is None


@pytest.mark.parametrize(("mode", "is_trusted"), [(0o777, False), (0o775, False), (0o1777, True), (0o755, True)])
def test_a_directory_that_others_write_must_be_sticky(
    mode: int, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="users", gr_mem=[]))
    scratch = tmp_path / "scratch"
    (scratch / "muster").mkdir(parents=True)
    scratch.chmod(mode)
    expected = None if is_trusted else PathPart(str(scratch), os.geteuid(), mode)
    assert untrusted_part(Host(), str(scratch / "muster")) == expected
    assert make_trusted(str(scratch / "muster" / "more")) == expected
    assert (scratch / "muster" / "more").exists() is is_trusted


@pytest.fixture
def group_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that its group, that of ann alone, may write."""
    gid = tmp_path.stat().st_gid
    users = [SimpleNamespace(pw_name="ann", pw_gid=gid), SimpleNamespace(pw_name="bob", pw_gid=gid + 1)]
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="ann", gr_mem=[]))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: users[0])
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    tmp_path.chmod(0o775)
    return tmp_path


@pytest.mark.parametrize("members", [[], ["ann"], ["ann", "bob"]])
def test_a_group_of_one_user_may_write(
    members: list[str], group_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grp, "getgrgid", lambda gid: SimpleNamespace(gr_name="ann", gr_mem=members))
    assert (untrusted_part(Host(), str(group_directory)) is None) is (members != ["ann", "bob"])


def test_a_group_that_is_another_users_primary_one_may_not(
    group_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gid = group_directory.stat().st_gid
    users = [SimpleNamespace(pw_name=name, pw_gid=gid) for name in ("ann", "bob")]
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    assert untrusted_part(Host(), str(group_directory)) is not None


def test_the_mask_of_an_acl_is_not_the_groups_permission(group_directory: Path) -> None:
    """As after `setfacl -m u:nobody:rwx`."""
    entries = [(0x01, 7, -1), (0x02, 7, NOBODY), (0x04, 5, -1), (0x10, 7, -1), (0x20, 5, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    assert make_trusted(str(group_directory)) is None
    try:
        os.setxattr(group_directory, "system.posix_acl_access", acl)
    except OSError as error:
        pytest.skip(f"no ACL can be set here: {error}")
    part = PathPart(str(group_directory), os.geteuid(), 0o775)
    assert untrusted_part(Host(), str(group_directory)) == part
    assert make_trusted(str(group_directory)) == part


def test_nodes_that_share_a_file_system_make_one_directory_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for number in range(10):  # they meet in some of so many directories
            path = str(tmp_path.joinpath(str(number), *["below"] * 200))
            assert list(pool.map(make_trusted, [path] * 4)) == [None] * 4


def test_nothing_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(OSError, match="link") as refused:
        make_trusted(str(tmp_path / "link" / "muster"))
    assert refused.value.filename == str(tmp_path / "link")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_open_directory_stays_the_one_that_was_opened(tmp_path: Path) -> None:
    mine, stolen = tmp_path / "run", tmp_path / "stolen"
    mine.mkdir(mode=0o700)
    folder = open_private(str(mine), {os.geteuid()})
    try:
        mine.rename(stolen)
        mine.mkdir()
        Path(f"/proc/self/fd/{folder}", "private").touch()
    finally:
        os.close(folder)
    assert [path.name for path in stolen.iterdir()] == ["private"]
    assert not list(mine.iterdir())


@needs_root
def test_root_opens_no_directory_that_is_open_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(PermissionError):
        open_private(str(tmp_path), {os.geteuid()})


def _opened(path: Path, owners: set[int]) -> bool:
    with contextlib.suppress(PermissionError):
        os.close(open_private(str(path), owners))
        return True
    return False


@needs_root
def test_a_user_opens_what_a_shared_file_system_shows_as_another_owners() -> None:
    """As NFS with all_squash and CIFS do: every owner is the same, and chmod is refused or changes nothing."""
    with open_folder() as folder:
        run = folder / "run"
        run.mkdir()
        run.chmod(0o777)
        os.chown(run, NOBODY + 1, NOBODY + 1)
        assert as_nobody(lambda: _opened(run, {NOBODY, NOBODY + 1}))
        assert not as_nobody(lambda: _opened(run, {NOBODY}))
        os.chown(run, NOBODY, NOBODY)
        assert as_nobody(lambda: _opened(run, {NOBODY}))
        assert stat.S_IMODE(run.stat().st_mode) == 0o700, "where chmod works, it is private"


@needs_root
def test_a_user_trusts_no_owner_whom_the_file_system_does_not_show_for_a_new_file() -> None:
    """As where somebody made the work directory in /var/tmp before the user did."""
    with open_folder() as folder:
        folder.chmod(0o777)
        for owner in (NOBODY, NOBODY + 1):
            os.chown(folder, owner, owner)
            assert as_nobody(lambda: sorted(owners_below(str(folder)))) == [NOBODY]
        assert not list(folder.iterdir())


@needs_root
def test_another_users_directory_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        squatted = folder / "squatted"
        squatted.mkdir()
        os.chown(squatted, NOBODY, NOBODY)
        mode = stat.S_IMODE(squatted.stat().st_mode)
        part = PathPart(str(squatted), NOBODY, mode)
        assert untrusted_part(Host(), str(squatted / "muster")) == part
        assert make_trusted(str(squatted / "muster")) == part
        assert not (squatted / "muster").exists()
        assert as_nobody(lambda: untrusted_part(Host(), str(squatted)) is None)
        monkeypatch.setenv("SUDO_UID", str(NOBODY))  # who became root by sudo could do all this anyway
        assert untrusted_part(Host(), str(squatted)) is None
