# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
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
from ansible_collections.muster.train.plugins.module_utils._runs import files

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


def listed(run_dir: Path, limit: int = 0) -> dict[str, Any]:
    entries = files.list_files(Host(), str(run_dir), limit)
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
    assert entries[f"outputs/{shown}"]["stays"].startswith("its name is not UTF-8, or has control characters")
    assert entries[f"outputs/{shown}"]["sha256"] is None
    assert entries["outputs/café"]["stays"] is None


def test_a_large_file_stays(run_dir: Path) -> None:
    (run_dir / "outputs" / "large").write_bytes(bytes(3 << 20))
    assert listed(run_dir, 2 << 20)["outputs/large"]["stays"] == "3 MiB is above limit_mib"
    assert listed(run_dir, 3 << 20)["outputs/large"]["stays"] is None


def test_the_digest_is_of_the_size(run_dir: Path) -> None:
    """A log that grows while it is read has the digest of what it was."""

    class Growing(Host):
        def size(self, path: str) -> int | None:
            size = super().size(path)
            with Path(path).open("a") as stream:
                stream.write("more\n")
            return size

    (run_dir / "runner.log").write_text("first\n")
    (file,) = files.list_files(Growing(), str(run_dir), 0)
    assert file["sha256"] == hashlib.sha256(b"first\n").hexdigest()
    assert file["size"] == 6


def test_parts(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 4)
    (run_dir / "outputs" / "a").write_bytes(b"0123456789")
    contents = []
    for offset in (0, 4, 8, 12):
        part = files.read_part(Host(), str(run_dir), "outputs/a", offset)
        assert part is not None
        content = base64.b64decode(part["content"])
        assert part["sha256"] == hashlib.sha256(content).hexdigest()
        contents.append((content, part["last"]))
    assert contents == [(b"0123", False), (b"4567", False), (b"89", True), (b"", True)]


@pytest.mark.parametrize("path", ["absent", "outputs", "link", "../other", "/etc/passwd"])
def test_files_outside_the_run_are_not_read(run_dir: Path, path: str) -> None:
    (run_dir.parent / "other").write_text("secret")
    (run_dir / "link").symlink_to("/etc/passwd")
    assert files.read_part(Host(), str(run_dir), path, 0) is None


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
                part = files.read_part(Host(), str(run_dir), path, 0)
                contents.add(None if part is None else base64.b64decode(part["content"]))
                digests.add(listed(run_dir).get(path, {}).get("sha256"))
        finally:
            exchanger.kill()
    assert contents <= {None, b"ours"}
    assert digests <= {None, hashlib.sha256(b"ours").hexdigest()}
