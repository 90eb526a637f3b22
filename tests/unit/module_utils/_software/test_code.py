# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkout: which commit, which branch, changed or not."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.node import Code
from ansible_collections.muster.train.plugins.module_utils._software import changes as changes_module
from ansible_collections.muster.train.plugins.module_utils._software.code import (
    MARKER,
    NAME,
    STATUS,
    parse_status,
    read_code,
)
from ansible_collections.muster.train.tests.support.machines import load

COMMIT = "8f2c1d0e9b7a6f5e4d3c2b1a09f8e7d6c5b4a392"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "code with space"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "train.py").write_text("1\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


def refuse(warning: str) -> None:
    raise AssertionError(warning)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# branch.oid {COMMIT}\n# branch.head main\n", (COMMIT, "main", False)),
        (f"# branch.oid {COMMIT}\n# branch.head (detached)\n? new\n", (COMMIT, None, True)),
        (f"# branch.oid {COMMIT}\n# branch.head a/b\n1 .M N... 1 2 3 a b x\n", (COMMIT, "a/b", True)),
        ("# branch.oid (initial)\n# branch.head main\n", (None, "main", False)),
        ("", (None, None, False)),
        ("# branch.oid\n# \n", (None, None, False)),
    ],
)
def test_status(text: str, expected: tuple[str | None, str | None, bool]) -> None:
    assert parse_status(text) == expected


def test_a_clean_checkout_and_a_folder_in_it(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert read_code(Host(), str(checkout), refuse) == Code(str(checkout), True, commit, "main", False, source="git")
    (checkout / "deep").mkdir()
    assert read_code(Host(), f"{checkout}/deep", refuse).commit == commit


@pytest.mark.parametrize(("name", "dirty"), [("train.py", True), ("new.py", True), ("new.log", False)])
def test_dirty_is_changed_or_new_but_not_ignored(checkout: Path, name: str, dirty: bool) -> None:
    (checkout / name).write_text("2\n")
    assert read_code(Host(), str(checkout), refuse).dirty is dirty


def test_looking_leaves_no_trace(checkout: Path) -> None:
    (checkout / "train.py").touch()
    before = (checkout / ".git/index").read_bytes()
    read_code(Host(), str(checkout), refuse)
    assert (checkout / ".git/index").read_bytes() == before


def test_a_checkout_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    assert read_code(Host(), str(tmp_path), refuse) == Code(str(tmp_path), True, None, "main", False, source="git")


def test_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert read_code(Host(), str(tmp_path), refuse) == Code(str(tmp_path), True, None, None, None)


def test_no_folder_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_code(Host(), f"{tmp_path}/no", refuse) == Code(f"{tmp_path}/no", False, None, None, None)
    assert read_code(Host(), f"{tmp_path}/file", refuse) == Code(f"{tmp_path}/file", False, None, None, None)


class Answers:
    def __init__(self, *results: CommandResult) -> None:
        self.results = list(results)
        self.asked: list[list[str]] = []

    def __call__(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        self.asked.append(list(argv))
        return self.results.pop(0)


def warned(tmp_path: Path, *results: CommandResult) -> tuple[Code, list[str], Answers]:
    answers, warnings = Answers(*results), list[str]()
    code = read_code(Host(run=answers), str(tmp_path), warnings.append)
    return code, warnings, answers


def test_a_checkout_of_another_user(tmp_path: Path) -> None:
    messages = f"fatal: detected dubious ownership in repository at '{tmp_path}'\nTo add an exception, call:\n"
    code, warnings, _answers = warned(tmp_path, CommandResult(128, "", messages))
    assert (code.exists, code.commit, code.dirty) == (True, None, None)
    assert code.why and f"code {tmp_path}: {code.why}" == warnings[0]
    assert warnings == [
        f"code {tmp_path}: git does not trust this checkout, because it belongs to another user; "
        f"to trust it: git config --global --add safe.directory {tmp_path}"
    ]


def test_git_says_something_else(tmp_path: Path) -> None:
    code, warnings, _answers = warned(tmp_path, CommandResult(128, "", "fatal: index file corrupt\nmore\n"))
    assert (code.commit, code.why) == (None, "git status failed: fatal: index file corrupt")
    assert warnings == [f"code {tmp_path}: git status failed: fatal: index file corrupt"]


def test_git_fails_without_a_word(tmp_path: Path) -> None:
    _code, warnings, _answers = warned(tmp_path, CommandResult(-9, "", ""))
    assert warnings == [f"code {tmp_path}: git status failed: exit code -9"]


def test_git_is_missing(tmp_path: Path) -> None:
    missing = CommandResult(None, "", "git: not found", missing=True)
    assert warned(tmp_path, missing)[1] == []
    (tmp_path / ".git").mkdir()
    code, warnings, _answers = warned(tmp_path, missing)
    assert (code.why, warnings) == ("is a checkout, but git is not installed", [f"code {tmp_path}: {code.why}"])
    (tmp_path / "deep").mkdir()
    assert warned(tmp_path / "deep", missing)[0].why == code.why


def test_a_checkout_too_large_to_look_through(tmp_path: Path) -> None:
    slow = CommandResult(None, "", "", timed_out=True)
    code, warnings, answers = warned(tmp_path, slow, CommandResult(0, f"{COMMIT}\nmain\n", ""))
    why = "git status took longer than 5 s; whether it is dirty is unknown"
    assert code == Code(str(tmp_path), True, COMMIT, "main", None, source="git", why=why)
    assert warnings == [f"code {tmp_path}: {why}"]
    assert answers.asked == [STATUS, NAME]
    code, _warnings, _answers = warned(tmp_path, slow, CommandResult(0, f"{COMMIT}\nHEAD\n", ""))
    assert code.branch is None
    code, _warnings, _answers = warned(tmp_path, slow, slow)
    assert code == Code(str(tmp_path), True, None, None, None, why=why)


def test_machines(tmp_path: Path) -> None:
    laptop = load("laptop", tmp_path / "a")
    assert read_code(laptop, "/home/me/code", refuse) == Code(
        "/home/me/code", True, COMMIT, "main", False, source="git"
    )
    hgx = load("hgx_h100", tmp_path / "b")
    assert read_code(hgx, "/raid/muster", refuse) == Code("/raid/muster", True, "1" * 40, None, True, source="git")


# What the role `code` left beside code without .git.

MARKED = {"commit": COMMIT, "branch": "main", "dirty": True, "changes": "3f1c9a0be2d47766", "more": 1}


def mark(folder: Path, text: str) -> None:
    (folder / MARKER).write_text(text)


def test_the_marker_describes_the_checkout(tmp_path: Path) -> None:
    mark(tmp_path, json.dumps(MARKED))
    expected = Code(str(tmp_path), True, COMMIT, "main", True, "3f1c9a0be2d47766", MARKER)
    assert read_code(Host(), str(tmp_path), refuse) == expected


def test_the_marker_wins_over_a_repository_further_up(checkout: Path) -> None:
    (checkout / "brought").mkdir()
    mark(checkout / "brought", json.dumps(MARKED))
    assert read_code(Host(), f"{checkout}/brought", refuse).commit == COMMIT


def test_a_checkout_wins_over_a_marker(checkout: Path) -> None:
    mark(checkout, json.dumps(MARKED))
    code = read_code(Host(), str(checkout), refuse)
    assert (code.source, code.commit) == ("git", git(checkout, "rev-parse", "HEAD"))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"commit": "--help"}', '{"commit": "main"}'])
def test_no_marker(tmp_path: Path, text: str) -> None:
    mark(tmp_path, text)
    code, warnings, answers = warned(tmp_path)
    why = f"{MARKER} is not what the role code writes; the commit is unknown"
    assert code == Code(str(tmp_path), True, None, None, None, why=why)
    assert warnings == [f"code {tmp_path}: {why}"]
    assert answers.asked == []


def test_a_marker_of_code_without_a_repository(tmp_path: Path) -> None:
    mark(tmp_path, json.dumps(dict.fromkeys(("commit", "branch", "dirty", "changes"))))
    assert read_code(Host(), str(tmp_path), refuse) == Code(str(tmp_path), True, None, None, None, None, MARKER)


def test_the_same_changes_have_the_same_digest(checkout: Path, tmp_path: Path) -> None:
    def changes(folder: Path) -> str | None:
        return read_code(Host(), str(folder), refuse).changes

    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(checkout), str(other))
    git(other, "config", "diff.noprefix", "true")
    assert changes(checkout) is None
    visible: set[str | None] = {None}

    def both(work: Callable[[Path], object]) -> None:
        work(checkout)
        first = changes(checkout)
        assert first not in visible
        visible.add(first)
        work(other)
        assert changes(other) == first

    both(lambda folder: (folder / "train.py").write_text("2\n"))
    both(lambda folder: (folder / "train.py").write_text("3\n"))
    both(lambda folder: (folder / "new file").write_text("a\n"))
    both(lambda folder: (folder / "new file").write_text("b\n"))
    both(lambda folder: (folder / "link").symlink_to("train.py"))
    both(lambda folder: (folder / "train.py").chmod(0o755))
    both(lambda folder: (folder / "train.py").unlink())
    (checkout / "out.log").write_text("ignored\n")
    assert changes(checkout) == changes(other)
    (checkout / "sub").mkdir()
    assert changes(checkout / "sub") == changes(other)


def test_changes_that_are_too_many_or_too_large(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "new").write_text("12345")
    assert read_code(Host(), str(checkout), refuse).changes
    monkeypatch.setattr(changes_module, "SIZE", 4)
    assert read_code(Host(), str(checkout), refuse) == dataclasses.replace(
        read_code(Host(), str(checkout), refuse), dirty=True, changes=None
    )
    monkeypatch.undo()
    monkeypatch.setattr(changes_module, "FILES", 0)
    assert read_code(Host(), str(checkout), refuse).changes is None
    monkeypatch.undo()
    monkeypatch.setattr(changes_module, "TIME_S", 0.0)
    assert read_code(Host(), str(checkout), refuse).changes is None


def test_a_repository_inside_is_its_commit(checkout: Path) -> None:
    inner = checkout / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet", "--initial-branch=main")
    (inner / "a.py").write_text("1\n")
    # Without a commit, and then with changes of its own: not known.
    assert changes_of(checkout) is None
    git(inner, "add", ".")
    git(inner, "commit", "--quiet", "-m", "one")
    first = changes_of(checkout)
    git(inner, "commit", "--quiet", "--allow-empty", "-m", "two")
    second = changes_of(checkout)
    assert first and second and first != second
    (inner / "a.py").write_text("2\n")
    assert changes_of(checkout) is None
    git(inner, "checkout", "--quiet", "a.py")
    git(checkout, "add", "inner")
    git(checkout, "commit", "--quiet", "-m", "as a submodule")
    git(inner, "commit", "--quiet", "--allow-empty", "-m", "three")
    third = changes_of(checkout)
    assert third not in (None, first, second)


def changes_of(folder: Path) -> str | None:
    code = read_code(Host(), str(folder), refuse)
    assert code.dirty
    return code.changes


def test_what_cannot_be_read_cannot_be_compared(checkout: Path) -> None:
    class Closed(Host):
        def sha256(self, path: str, size: int | None = None, below: str | None = None) -> str | None:
            return None

    (checkout / "new").write_text("1")
    assert changes_module.read_changes(Host(), str(checkout))
    assert changes_module.read_changes(Closed(), str(checkout)) is None
