# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of what a checkout has beyond its commit: the same for the same changes, another for others."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils import _changes
from ansible_collections.muster.train.plugins.module_utils._changes import hash_changes, parse_changes
from ansible_collections.muster.train.plugins.module_utils._host import Host


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def refuse(warning: str) -> None:
    raise AssertionError(warning)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one = tmp_path / "one"
    one.mkdir()
    git(one, "init", "--quiet")
    (one / "train.py").write_text("1\n")
    (one / "old name.py").write_text("1\n")
    (one / ".gitignore").write_text("*.log\n")
    git(one, "add", ".")
    git(one, "commit", "--quiet", "-m", "first")
    shutil.copytree(one, tmp_path / "two", symlinks=True)
    return one, tmp_path / "two"


def digest(folder: Path) -> str | None:
    return hash_changes(Host(), str(folder), refuse)


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda here: (here / "train.py").write_text("2\n"),
    "edited otherwise": lambda here: (here / "train.py").write_text("3\n"),
    "executable": lambda here: (here / "train.py").chmod(0o755),
    "gone": lambda here: (here / "train.py").unlink(),
    "new": lambda here: (here / "new.py").write_text("1\n"),
    "new, below": lambda here: [(here / "d").mkdir(), (here / "d/new.py").write_text("1\n")],
    "new link": lambda here: (here / "new.py").symlink_to("train.py"),
    "renamed": lambda here: git(here, "mv", "old name.py", "new\tname.py"),
}


def test_the_same_changes_have_the_same_digest_and_no_others(pair: tuple[Path, Path]) -> None:
    one, two = pair
    seen = {digest(one)}
    for change in CHANGES.values():
        for here in pair:
            change(here)
        assert digest(one) == digest(two)
        assert digest(one) not in seen
        seen.add(digest(one))
        for here in pair:
            git(here, "reset", "--hard", "--quiet")
            git(here, "clean", "-dfq")


def test_staged_or_not_and_the_users_configuration_do_not_count(pair: tuple[Path, Path]) -> None:
    one, two = pair
    for here in pair:
        (here / "train.py").write_text("2\n")
    git(one, "add", ".")
    git(two, "config", "diff.noprefix", "true")
    git(two, "config", "status.renames", "copies")
    assert digest(one) == digest(two)


def test_ignored_files_do_not_count(pair: tuple[Path, Path]) -> None:
    one, two = pair
    (one / "run.log").write_text("1\n")
    assert digest(one) == digest(two)


def test_seen_from_a_folder_of_the_checkout(pair: tuple[Path, Path]) -> None:
    one, _two = pair
    (one / "deep").mkdir()
    (one / "train.py").write_text("2\n")
    assert digest(one / "deep") == digest(one)


def test_of_a_large_file_the_size_counts(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pair
    monkeypatch.setattr(_changes, "LARGE", 3)
    (one / "model.bin").write_text("1234")
    (two / "model.bin").write_text("5678")
    assert digest(one) == digest(two)
    (two / "model.bin").write_text("56789")
    assert digest(one) != digest(two)


def test_too_many_changes_are_not_told(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one, _two = pair
    monkeypatch.setattr(_changes, "MOST", 1)
    for name in ("a", "b"):
        (one / name).touch()
    warnings: list[str] = []
    assert hash_changes(Host(), str(one), warnings.append) is None
    assert warnings == [f"code {one}: 2 files are changed or new; which ones is not told (more than 1)"]


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert digest(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 .M N... 100644 100644 100644 a b a name\0? new\n2\0", ["a name", "new\n2"]),
        ("u UU N... 1 2 3 4 a b c both\0! ignored\0# branch.oid x\0", ["both"]),
        ("? \0?\0 1\0garbage\0", []),
        ("", []),
    ],
)
def test_changes(text: str, expected: list[str]) -> None:
    assert parse_changes(text) == expected
