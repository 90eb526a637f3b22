# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory copied as an archive of what differs, between two directories of this machine."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.tree import extract_archive, remove_paths
from ansible_collections.muster.train.plugins.module_utils._records.file_tree import (
    TreeDifference,
    pack_tree,
    unpack_tree,
)
from ansible_collections.muster.train.plugins.module_utils._software.copied_tree import compare_copy, read_original
from ansible_collections.muster.train.plugins.plugin_utils._action.code_archive import code_archive
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

NOTHING = TreeDifference([], [], [])
# Not UTF-8, and what a shell or a line-wise program would stumble over.
STRANGE = os.fsdecode(b"caf\xe9 'of' $two\nlines.py")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    for name in ("train.py", "pkg/model.py", "pkg/deep/layer.py", f"pkg/{STRANGE}", "run.sh", "__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name!r}\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("train.py")
    (folder / "dangling").symlink_to("/nowhere")
    os.link(folder / "train.py", folder / "second_name.py")
    os.utime(folder / "train.py", (1_700_000_000, 1_700_000_000))
    return folder


def copy(source: Path, target: Path, excludes: Sequence[str] = (), delete: bool = False) -> TreeDifference:
    """Copy as the action and the module do; return what was found to differ."""
    host = Host()
    wanted = unpack_tree(pack_tree(read_original(host, str(source), excludes).entries))
    difference = compare_copy(host, str(target), wanted, excludes, delete)
    with code_archive(str(source), sorted([*difference.added, *difference.changed])) as archive:
        remove_paths(host, str(target), difference.removed)
        extract_archive(host, str(target), archive)
    return difference


def reason(error: OSError) -> list[object]:
    return [error.errno, error.filename]


def content(folder: Path) -> dict[str, object]:
    """Everything of a tree that a program may notice."""
    described: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(folder))
        if path.is_symlink():
            described[name] = path.readlink()
        elif path.is_dir():
            described[name] = stat.S_IMODE(status.st_mode)
        else:
            described[name] = (path.read_bytes(), stat.S_IMODE(status.st_mode), int(status.st_mtime))
    return described


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_a_copy_is_what_rsync_makes(source: Path, tmp_path: Path) -> None:
    excludes = ["__pycache__/", "deep"]
    first = copy(source, tmp_path / "copy", excludes)
    assert first.added == sorted(content(tmp_path / "copy"))
    assert f"pkg/{STRANGE}" in first.added
    options = ["-a", "--omit-dir-times", *(f"--exclude={pattern}" for pattern in excludes)]
    subprocess.run(["rsync", *options, f"{source}/", f"{tmp_path}/of_rsync/"], check=True)
    assert content(tmp_path / "copy") == content(tmp_path / "of_rsync")
    assert copy(source, tmp_path / "copy", excludes) == NOTHING


def test_only_what_differs_is_copied(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    copy(source, target)
    (source / "train.py").write_text("# 'train.PY'\n")  # of the same size
    (source / "run.sh").chmod(0o640)
    (source / "link").unlink()
    (source / "link").symlink_to("run.sh")
    (source / "new.py").touch()
    untouched = (target / "pkg" / "model.py").stat()
    assert copy(source, target) == TreeDifference(["new.py"], ["link", "run.sh", "second_name.py", "train.py"], [])
    assert (target / "pkg" / "model.py").stat() == untouched
    assert content(target) == content(source)


def test_times_and_rights_of_a_group_are_not_compared(source: Path, tmp_path: Path) -> None:
    """A checkout of git has new times, and Kubernetes gives the group of a pod rights on its volume (fsGroup)."""
    target = tmp_path / "copy"
    copy(source, target)
    os.utime(target / "train.py")
    (target / "train.py").chmod(0o664)
    (target / "pkg").chmod(0o2775)
    assert copy(source, target) == NOTHING


def test_what_the_controller_lacks_stays_unless_it_is_to_be_deleted(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    copy(source, target)
    (target / "old" / "deep").mkdir(parents=True)
    (target / "old" / "deep" / "a.py").touch()
    (target / "old" / "link").symlink_to(source)
    (target / "logs").mkdir()
    (target / "logs" / "big.pt").touch()
    (target / "logs" / "more.txt").touch()
    assert copy(source, target, ["*.pt"]) == NOTHING
    removed = ["logs/more.txt", "old", "old/deep", "old/deep/a.py", "old/link"]
    assert copy(source, target, ["*.pt"], delete=True) == TreeDifference([], [], removed)
    assert sorted({*content(target)} - {*content(source)}) == ["logs", "logs/big.pt"]
    assert source.is_dir()
    # Idempotent although a directory stays for what is excluded.
    assert copy(source, target, ["*.pt"], delete=True) == NOTHING


def test_large_files_that_only_the_node_has_are_not_read(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    copy(source, target)
    os.mkfifo(target / "pipe")  # a reader would wait
    with (target / "checkpoint.pt").open("wb") as stream:
        stream.truncate(1 << 40)  # an hour to read
    assert copy(source, target, delete=True).removed == ["checkpoint.pt", "pipe"]


def test_what_is_no_file_is_not_copied(source: Path, tmp_path: Path) -> None:
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(source / "socket"))  # an address of at most 108 bytes
    assert not {"pipe", "socket"} & {*copy(source, tmp_path / "copy").added}
    assert copy(source, tmp_path / "copy") == NOTHING


def test_a_file_takes_the_place_of_a_directory_and_the_reverse(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.mkdir()
    (target / "pkg").symlink_to("/tmp")
    (target / "empty").touch()
    (target / "link").mkdir()
    (target / "train.py").mkdir()
    assert copy(source, target).changed == ["empty", "link", "pkg", "train.py"]
    assert content(target) == content(source)


def test_a_full_directory_in_the_place_of_a_file_is_left_alone_unless_it_may_be_deleted(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    (target / "train.py").mkdir(parents=True)
    (target / "train.py" / "mine.txt").touch()
    with pytest.raises(OSError, match="not empty") as failure:
        copy(source, target)
    assert reason(failure.value) == [errno.ENOTEMPTY, str(target / "train.py")]
    assert (target / "train.py" / "mine.txt").exists()
    copy(source, target, delete=True)
    assert content(target) == content(source)


def test_no_reader_sees_half_a_file(source: Path, tmp_path: Path) -> None:
    """What a program has open, or is mapped into it, stays as it is."""
    target = tmp_path / "copy"
    copy(source, target)
    with (target / "train.py").open() as stream:
        (source / "train.py").write_text("edited\n")
        copy(source, target)
        assert stream.read() == "# 'train.py'\n"
    assert (target / "train.py").read_text() == "edited\n"
    assert list(target.rglob(".muster-*")) == []


@needs_root
def test_a_directory_of_another_user_is_named_with_the_remedy(source: Path) -> None:
    def extract() -> list[object]:
        try:
            extract_archive(Host(), str(folder / "copy"), str(folder / "code.tar.gz"))
        except OSError as error:
            return reason(error)
        return []

    with open_folder() as folder:
        with code_archive(str(source), ["train.py"]) as archive:
            shutil.copyfile(archive, folder / "code.tar.gz")
        (folder / "copy").mkdir()
        assert as_nobody(extract) == [errno.EACCES, str(folder / "copy" / "train.py")]


FULL = """
import json
import sys
from pathlib import Path
from ansible_collections.muster.train.tests.unit.module_utils._software.test_copied_tree import copy, reason
source, target = map(Path, sys.argv[1:])
try:
    copy(source, target)
except OSError as error:
    print(json.dumps([*reason(error), (target / "train.py").read_text(), [path.name for path in target.iterdir()]]))
"""


@needs_root
def test_a_full_volume_keeps_the_file_that_it_has(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    target.mkdir()
    (source / "train.py").write_bytes(os.urandom(1 << 20))
    mount = f"mount -t tmpfs -o size=128k tmpfs {target} && echo old >{target}/train.py"
    program = shlex.join([sys.executable, "-c", FULL, str(source), str(target)])
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f"{mount} && exec {program}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [errno.ENOSPC, str(target / "train.py"), "old\n", ["train.py"]]


@needs_root
def test_what_cannot_be_read_is_known_before_anything_is_written() -> None:
    with open_folder() as folder:
        (folder / "private.key").touch(mode=0o600)
        (folder / "secret").mkdir(mode=0o700)
        (folder / "listed").mkdir()
        (folder / "listed" / "a.py").touch()
        (folder / "listed").chmod(0o744)
        unreadable = as_nobody(lambda: [*read_original(Host(), str(folder), []).unreadable])
        removed = as_nobody(lambda: compare_copy(Host(), str(folder), {}, [], delete=True).removed)
    assert sorted(unreadable) == ["listed/a.py", "private.key", "secret"]
    assert removed == ["private.key"]


def test_a_file_that_grows_while_it_is_read_is_no_part_of_an_archive(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as large as when it was opened, but may be half old and half new."""
    real = os.fstat

    def edit(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        with (source / "train.py").open("a") as stream:
            stream.write("more\n")
        return status

    monkeypatch.setattr(os, "fstat", edit)
    with pytest.raises(UserError, match="meanwhile"), code_archive(str(source), ["train.py"]):
        pass


def test_a_directory_that_only_the_node_has_is_not_listed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data set beside the code can have millions of files."""
    target = tmp_path / "copy"
    copy(source, target)
    (target / "dataset").mkdir()
    real, listed = os.scandir, []

    def scan(path: str) -> object:
        listed.append(os.path.basename(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert copy(source, target) == NOTHING
    assert "pkg" in listed
    assert "dataset" not in listed
    copy(source, target, delete=True)
    assert "dataset" in listed


def test_nobody_else_can_read_a_private_file_while_it_is_written(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "token").write_text("secret")
    (source / "token").chmod(0o600)
    real, modes = os.fchmod, []

    def change(descriptor: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", change)
    copy(source, tmp_path / "copy")
    assert set(modes) == {0o600}
    assert stat.S_IMODE((tmp_path / "copy" / "token").stat().st_mode) == 0o600
