# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkout: which commit, which branch, changed or not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.node import Code
from ansible_collections.muster.train.plugins.module_utils._software.code import (
    MARKER,
    NAME,
    STATUS,
    parse_excludes,
    parse_status,
    read_code,
)
from ansible_collections.muster.train.tests.support.checkouts import git, make_checkout
from ansible_collections.muster.train.tests.support.machines import load

COMMIT = "8f2c1d0e9b7a6f5e4d3c2b1a09f8e7d6c5b4a392"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "code with space")


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


@pytest.mark.parametrize(
    ("name", "dirty"),
    [
        ("train.py", True),
        (".gitignore", True),
        ("new.py", True),
        ("new.log", False),
        ("lightning_logs/version_0/hparams.yaml", False),
        ("wandb/run-20261124_010203/files/code/train.py", False),
        ("lib/parts.py", True),
    ],
)
def test_dirty_is_changed_or_new_and_can_be_imported(checkout: Path, name: str, dirty: bool) -> None:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("2\n")
    code = read_code(Host(), str(checkout), refuse)
    assert (code.dirty, list(code.files), bool(code.changes)) == (dirty, [name] if dirty else [], dirty)


def test_new_files_that_the_launch_names_count_and_modules_beside_them(checkout: Path) -> None:
    recipes = checkout / "recipes-2"
    recipes.mkdir()
    for name in ("train-gpt.py", "base.yaml", "parts.py", "notes.txt"):
        (recipes / name).touch()
    assert not read_code(Host(), str(checkout), refuse).dirty
    files = [f"{recipes}/train-gpt.py", f"{recipes}/base.yaml", "/elsewhere/parts.py"]
    code = read_code(Host(), str(checkout), refuse, files)
    assert list(code.files) == ["recipes-2/base.yaml", "recipes-2/parts.py", "recipes-2/train-gpt.py"]


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
    code = read_code(Host(), str(tmp_path), refuse)
    assert code == Code(str(tmp_path), True, None, None, None, tree=code.tree)
    assert code.tree


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


MISSING = CommandResult(None, "", "git: not found", missing=True)
SLOW = CommandResult(None, "", "", timed_out=True)
DUBIOUS = "fatal: detected dubious ownership in repository at '/code'\nTo add an exception, call:\n"
# What git answers where nothing is known of a checkout.
UNKNOWN = {
    "it belongs to another user": [CommandResult(128, "", DUBIOUS)],
    "git says something else": [CommandResult(128, "", "fatal: index file corrupt\nmore\n")],
    "git fails without a word": [CommandResult(-9, "", "")],
    "git is missing": [MISSING],
    "it is too large to look through": [SLOW, SLOW],
}


def unknown(folder: Path, results: Sequence[CommandResult]) -> tuple[Code, list[str]]:
    """What is read of a checkout if git answers so."""
    (folder / ".git").mkdir(parents=True)
    code, warnings, _answers = warned(folder, *results)
    return code, warnings


@pytest.mark.parametrize("results", UNKNOWN.values(), ids=UNKNOWN)
def test_a_checkout_that_git_does_not_read(tmp_path: Path, results: list[CommandResult]) -> None:
    code, warnings = unknown(tmp_path, results)
    assert code == Code(str(tmp_path), True, None, None, None, why=code.why)
    assert code.why and warnings == [f"code {tmp_path}: {code.why}"]


def test_without_git_only_a_checkout_is_a_warning(tmp_path: Path) -> None:
    assert warned(tmp_path, MISSING)[1] == []
    (tmp_path / "deep").mkdir()
    code, _warnings = unknown(tmp_path, [MISSING])
    assert warned(tmp_path / "deep", MISSING)[0].why == code.why


def test_a_checkout_too_large_to_look_through_has_a_name(tmp_path: Path) -> None:
    code, warnings, answers = warned(tmp_path, SLOW, CommandResult(0, f"{COMMIT}\nmain\n", ""))
    assert code == Code(str(tmp_path), True, COMMIT, "main", None, source="git", why=code.why)
    assert (len(warnings), answers.asked) == (1, [STATUS, NAME])
    code, _warnings, _answers = warned(tmp_path, SLOW, CommandResult(0, f"{COMMIT}\nHEAD\n", ""))
    assert code.branch is None


def test_machines(tmp_path: Path) -> None:
    laptop = load("laptop", tmp_path / "a")
    assert read_code(laptop, "/home/me/code", refuse) == Code(
        "/home/me/code", True, COMMIT, "main", False, source="git"
    )
    code = read_code(load("hgx_h100", tmp_path / "b"), "/raid/muster", refuse)
    assert code.uncompared
    expected = Code("/raid/muster", True, "1" * 40, None, True, source="git")
    assert dataclasses.replace(code, uncompared=None) == expected


# What the role `code` left beside code without .git.

MARKED = {"commit": COMMIT, "branch": "main", "dirty": True, "changes": "3f1c9a0be2d47766", "more": 1}


def mark(folder: Path, text: str) -> None:
    (folder / MARKER).write_text(text)


def test_the_marker_describes_the_checkout(tmp_path: Path) -> None:
    mark(tmp_path, json.dumps(MARKED))
    expected = Code(str(tmp_path), True, COMMIT, "main", True, "3f1c9a0be2d47766", MARKER)
    code = read_code(Host(), str(tmp_path), refuse)
    assert code == dataclasses.replace(expected, tree=code.tree)


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
    assert code == Code(str(tmp_path), True, None, None, None, why=code.why)
    assert (len(warnings), answers.asked) == (1, [])


def test_a_marker_of_code_without_a_repository(tmp_path: Path) -> None:
    mark(tmp_path, json.dumps(dict.fromkeys(("commit", "branch", "dirty", "changes"))))
    code = read_code(Host(), str(tmp_path), refuse)
    assert code == Code(str(tmp_path), True, None, None, None, None, MARKER, tree=code.tree)


def test_the_marker_has_what_was_not_copied(tmp_path: Path) -> None:
    mark(tmp_path, json.dumps({**MARKED, "excludes": ["/old/", 7]}))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.py").touch()
    (tmp_path / "new.py").touch()
    assert list(read_code(Host(), str(tmp_path), refuse).files) == ["new.py"]


@pytest.mark.parametrize("text", ["", "[]", '{"excludes": 7}', '{"excludes": [7]}', "{}"])
def test_a_marker_without_patterns(text: str) -> None:
    assert parse_excludes(text) == []
