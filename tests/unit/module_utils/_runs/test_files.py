# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of a run are collected, and how one is read in parts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.removal import remove_tree
from ansible_collections.muster.train.plugins.module_utils._records.remaining import RemainingFile, RemainingFiles
from ansible_collections.muster.train.plugins.module_utils._runs import files
from ansible_collections.muster.train.tests.support import hostile_files

TIMES = 2000
# renameat2(2) with RENAME_EXCHANGE
EXCHANGE = """
import ctypes, sys
rename = ctypes.CDLL(None).renameat2
first, second = (name.encode() for name in sys.argv[1:])
while rename(-100, first, -100, second, 2) == 0:
    pass
"""


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "run" / "outputs").mkdir(parents=True)
    return tmp_path / "run"


def listed(run_dir: Path) -> dict[str, Any]:
    entries, _remaining = files.list_files(Host(), files.RunPaths(str(run_dir)))
    json.dumps(entries, ensure_ascii=False).encode()
    return {file["path"]: file for file in entries}


@pytest.mark.parametrize(
    ("name", "shown"), [(b"caf\xe9", r"caf\xe9"), (b"a\n!touch b", r"a\n!touch b"), (b"\xc2\x9b", r"\xc2\x9b")]
)
def test_a_name_that_cannot_be_copied_stays(run_dir: Path, name: bytes, shown: str) -> None:
    Path(os.fsdecode(os.path.join(os.fsencode(run_dir), b"outputs", name))).write_text("text")
    (run_dir / "outputs" / "café").write_text("text")
    entries = listed(run_dir)
    assert set(entries) == {f"outputs/{shown}", "outputs/café"}
    assert entries[f"outputs/{shown}"]["stays"]
    assert entries[f"outputs/{shown}"]["sha256"] is None
    assert entries["outputs/café"]["stays"] is None


def write(run_dir: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        (run_dir / "outputs" / name).parent.mkdir(parents=True, exist_ok=True)
        (run_dir / "outputs" / name).write_bytes(bytes(size))


def test_a_file_that_lies_deeper_than_python_recurses_stays(run_dir: Path) -> None:
    (run_dir / "outputs").mkdir(exist_ok=True)
    hostile_files.make_deep(str(run_dir / "outputs" / "deep"))
    host = Host()
    listed, _remaining = files.list_files(host, files.RunPaths(str(run_dir)))
    [deep] = [file for file in listed if file["path"].startswith("outputs/deep/")]
    assert (deep["path"].count("/"), deep["sha256"]) == (hostile_files.DEPTH + 2, None)
    assert deep["stays"].startswith(f"it lies more than {files.DEEPEST} directories deep: ")
    assert remove_tree(host, str(run_dir)) is None


def test_outputs_beyond_the_limit_stay_the_largest_first(run_dir: Path) -> None:
    write(run_dir, {"a": 30, "b/c": 20, "d": 60, "e": 10})
    (run_dir / "runner.log").write_bytes(bytes(500))
    entries, remaining = files.list_files(Host(), files.RunPaths(str(run_dir)), 60)
    assert [file["path"] for file in entries] == ["runner.log", "outputs/a", "outputs/b/c", "outputs/e"]
    largest = [RemainingFile("outputs/d", 60)]
    assert remaining == RemainingFiles(large=1, large_bytes=60, largest=largest)
    entries, remaining = files.list_files(Host(), files.RunPaths(str(run_dir)), 59)
    assert (len(entries), remaining.large, remaining.large_bytes) == (3, 2, 90)
    assert [file.path for file in remaining.largest] == ["outputs/d", "outputs/a"]
    entries, remaining = files.list_files(Host(), files.RunPaths(str(run_dir)), 0)
    assert (len(entries), remaining) == (5, RemainingFiles())


def test_excluded_names_stay_and_are_counted(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(run_dir, {"checkpoint-5/a.bin": 5, "checkpoint-5/b/c": 7, "x/model.pt": 11, "x/model.pt.txt": 1, "y.json": 1})
    (run_dir / "logs").mkdir()
    (run_dir / "logs" / "odd.pt").write_text("")
    (run_dir / "outputs" / "checkpoint-5" / "link").symlink_to("/etc/passwd")
    exclude = ["checkpoint-*", "*.pt"]
    entries, remaining = files.list_files(Host(), files.RunPaths(str(run_dir)), 0, exclude)
    assert [file["path"] for file in entries] == ["logs/odd.pt", "outputs/x/model.pt.txt", "outputs/y.json"]
    assert remaining == RemainingFiles(excluded=3, excluded_bytes=23)
    monkeypatch.setattr(files, "MOST_COUNTED", 2)
    _entries, remaining = files.list_files(Host(), files.RunPaths(str(run_dir)), 0, exclude)
    assert remaining == RemainingFiles(excluded=2, excluded_bytes=12, uncounted=True)


def test_the_digest_is_of_the_size(run_dir: Path) -> None:
    """A log that grows while it is read has the digest of what it was."""

    class Growing(Host):
        def size(self, path: str) -> int | None:
            size = super().size(path)
            with Path(path).open("a") as stream:
                stream.write("more\n")
            return size

    (run_dir / "runner.log").write_text("first\n")
    (file,), _remaining = files.list_files(Growing(), files.RunPaths(str(run_dir)))
    assert file["sha256"] == hashlib.sha256(b"first\n").hexdigest()
    assert file["size"] == 6


def test_parts(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 4)
    (run_dir / "outputs" / "a").write_bytes(b"0123456789")
    contents = []
    for offset in (0, 4, 8, 12):
        part = files.read_part(Host(), files.RunPaths(str(run_dir)), "outputs/a", offset)
        assert part is not None
        content = base64.b64decode(part["content"])
        assert part["sha256"] == hashlib.sha256(content).hexdigest()
        contents.append((content, part["last"]))
    assert contents == [(b"0123", False), (b"4567", False), (b"89", True), (b"", True)]


def test_shared_outputs_are_those_of_the_run(run_dir: Path, tmp_path: Path) -> None:
    run = files.RunPaths.of(str(run_dir), str(tmp_path / "shared"), "x")
    (tmp_path / "shared" / "x" / "deep").mkdir(parents=True)
    (tmp_path / "shared" / "x" / "deep" / "a").write_text("ours")
    (tmp_path / "shared" / "other").write_text("another run's")
    (run_dir / "outputs" / "b").write_text("not in the shared directory")
    (run_dir / "runner.log").write_text("log")
    entries, _remaining = files.list_files(Host(), run)
    assert [file["path"] for file in entries] == ["runner.log", "outputs/deep/a"]
    assert entries[1]["sha256"] == hashlib.sha256(b"ours").hexdigest()
    part = files.read_part(Host(), run, "outputs/deep/a", 0)
    assert part is not None and base64.b64decode(part["content"]) == b"ours"
    assert files.read_part(Host(), run, "outputs/../other", 0) is None
    (tmp_path / "shared" / "x").rename(tmp_path / "moved")
    (tmp_path / "shared" / "x").symlink_to(tmp_path / "moved")
    assert [file["path"] for file in files.list_files(Host(), run)[0]] == ["runner.log"]


@pytest.mark.parametrize("path", ["absent", "outputs", "link", "../other", "/etc/passwd"])
def test_files_outside_the_run_are_not_read(run_dir: Path, path: str) -> None:
    (run_dir.parent / "other").write_text("secret")
    (run_dir / "link").symlink_to("/etc/passwd")
    assert files.read_part(Host(), files.RunPaths(str(run_dir)), path, 0) is None


@pytest.mark.parametrize(
    ("path", "exchanged"), [("outputs/file", "outputs/file"), ("outputs/folder/file", "outputs/folder")]
)
def test_a_link_that_comes_meanwhile_is_not_followed(run_dir: Path, tmp_path: Path, path: str, exchanged: str) -> None:
    """Nor is what it leads to hashed. Another user exchanges the two all the time."""
    outside = tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    for folder in (run_dir / "outputs", outside):
        (folder / "folder").mkdir(exist_ok=True)
        for file in (folder / "file", folder / "folder" / "file"):
            file.write_text("secret" if folder == outside else "ours")
    link = run_dir / "link"
    link.symlink_to(outside / Path(exchanged).name)
    program = [sys.executable, "-c", EXCHANGE, str(link), str(run_dir / exchanged)]
    contents, digests = set(), set()
    with subprocess.Popen(program) as exchanger:
        try:
            for _time in range(TIMES):
                part = files.read_part(Host(), files.RunPaths(str(run_dir)), path, 0)
                contents.add(None if part is None else base64.b64decode(part["content"]))
                digests.add(listed(run_dir).get(path, {}).get("sha256"))
        finally:
            exchanger.kill()
    assert contents <= {None, b"ours"}
    assert digests <= {None, hashlib.sha256(b"ours").hexdigest()}
