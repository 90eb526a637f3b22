# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs from the commit in a checkout."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.node import Code
from ansible_collections.muster.train.plugins.module_utils._software import changes as changes_module
from ansible_collections.muster.train.plugins.module_utils._software import digest as digest_module
from ansible_collections.muster.train.plugins.module_utils._software.code import read_code
from ansible_collections.muster.train.tests.support.checkouts import git, make_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "code with space")


def refuse(warning: str) -> None:
    raise AssertionError(warning)


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
    both(lambda folder: (folder / "new_file.py").write_text("a\n"))
    both(lambda folder: (folder / "new_file.py").write_text("b\n"))
    both(lambda folder: (folder / "link.py").symlink_to("train.py"))
    both(lambda folder: (folder / "train.py").chmod(0o755))
    both(lambda folder: (folder / "train.py").unlink())
    (checkout / "out.log").write_text("ignored\n")
    assert changes(checkout) == changes(other)
    (checkout / "sub").mkdir()
    assert changes(checkout / "sub") == changes(other)


# Limits beyond which one new file is.
LIMITS: dict[str, tuple[Any, str, float]] = {
    "a large file": (digest_module, "SIZE", 4),
    "files that are large together": (digest_module, "TOTAL_SIZE", 4),
    "many files": (digest_module, "FILES", 0),
    "no time": (changes_module, "TIME_S", 0.0),
}


def limited(checkout: Path, module: Any, limit: str, value: float) -> Code:
    """What is read of a checkout with a new file if that is a limit."""
    (checkout / "new.py").write_text("12345")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, limit, value)
        return read_code(Host(), str(checkout), refuse)


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_changes_that_are_too_many_or_too_large(checkout: Path, limit: tuple[Any, str, float]) -> None:
    code = limited(checkout, *limit)
    whole = read_code(Host(), str(checkout), refuse)
    assert whole.changes and code.uncompared
    assert code == dataclasses.replace(whole, changes=None, files={}, uncompared=code.uncompared)


def test_of_many_changes_some_are_listed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_module, "LISTED_FILES", 2)
    for name in ("a.py", "b.py", "c.py"):
        (checkout / name).touch()
    (checkout / ".gitignore").unlink()
    code = read_code(Host(), str(checkout), refuse)
    assert list(code.files) == [".gitignore", "a.py"]
    assert code.files[".gitignore"] == ""
    digest = code.changes
    (checkout / "c.py").write_text("1")
    assert read_code(Host(), str(checkout), refuse).changes != digest


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

    (checkout / "new.py").write_text("1")
    assert changes_module.read_changes(Host(), str(checkout), [], []).value
    closed = changes_module.read_changes(Closed(), str(checkout), [], [])
    assert (closed.value, closed.uncompared) == (None, "new.py could not be read")
