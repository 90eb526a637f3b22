# SPDX-License-Identifier: GPL-3.0-or-later
"""The patterns of rsync, compared with rsync itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._software.excludes import excluded_by, unknown_patterns

PATHS = ["a", "ab", "d/a", "d/e/a", "d/e/f.py", "e/a", "d.py", "d/[x]", "f-1/a", "e/d/a", "d/e/d/e/a"]


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a",
            "/a",
            "d/",
            "/d/",
            "d/e",
            "/d/e/",
            "*.py",
            "?",
            "/?",
            "a*",
            "[ab]",
            "[!a]",
            "[^a-c]",
            "d/*",
            "d/**",
            "**/a",
        ),
        *(
            "e/***",
            "/e/***",
            "*/",
            "d/e/a",
            "/d/*/a",
            "/**",
            "f-[0-9]/",
            "",
            "/",
            "**",
            "d**a",
            "[x]",
            "d/e/d",
            "- a",
            "- d/",
        ),
    ],
)
def test_what_rsync_does_not_copy(pattern: str, tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    for path in PATHS:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).touch()
    command = ["rsync", "-a", f"--exclude={pattern}", f"{source}/", f"{copy}/"]
    subprocess.run(command, check=True)
    excluded = excluded_by([pattern])

    def kept(folder: Path, below: str = "") -> set[str]:
        names: set[str] = set()
        for path in folder.iterdir():
            name = below + path.name
            if not excluded(name, path.is_dir()):
                names |= {name} | (kept(path, f"{name}/") if path.is_dir() else set())
        return names

    assert kept(source) == {str(path.relative_to(copy)) for path in copy.rglob("*")}


@pytest.mark.parametrize("pattern", ["[", "(", "[]", "\\", "a\\*", "[z-a]", "+", "[[:alpha:]]", "\0", "***", "//"])
def test_no_pattern_is_an_exception(pattern: str) -> None:
    assert isinstance(excluded_by([pattern, "b"])("b", False), bool)
    assert excluded_by([pattern, "b"])("b", False) is True


@pytest.mark.parametrize(
    "pattern", ["+ a", "!", "[[:alpha:]]", "[a[:digit:]]", "d[", "d[/]e", "d/****", "//a", "a\\*", "/"]
)
def test_what_only_rsync_understands_is_known(pattern: str) -> None:
    """A wrong guess would copy or delete another file than rsync does."""
    assert unknown_patterns([pattern, "b", "[ab]"]) == [pattern]
    assert excluded_by([pattern])("b", False) is False
