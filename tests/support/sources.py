# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkout's own files, each read and parsed once, and the rules that all of them keep."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
Subject = TypeVar("Subject")


def files(*patterns: str) -> list[str]:
    """Return the files that patterns match, by their paths from the top of the checkout."""
    return sorted({str(path.relative_to(ROOT)) for name in patterns for path in ROOT.glob(name) if path.is_file()})


@cache
def text(path: str | Path) -> str:
    """Return the text of a file, which is given from the top of the checkout."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree(path: str | Path) -> ast.Module:
    """Return the syntax tree of a Python file; callers share it and leave it as it is."""
    return ast.parse(text(path), filename=str(path))


@cache
def nodes(path: str | Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a Python file."""
    return tuple(ast.walk(tree(path)))


@cache
def document(path: str | Path) -> Any:
    """Return what a YAML file holds; callers share it and leave it as it is."""
    return yaml.safe_load(text(path))


def check_all(subjects: Collection[Subject], breaches: Callable[[Subject], Iterable[object]]) -> None:
    """Hold files, or names, to a rule: fail with a line for each breach, and if there is nothing to check."""
    assert subjects, "there is nothing to check"
    lines = []
    for subject in subjects:
        name = str(subject).removeprefix(f"{ROOT}/")
        try:
            lines += [f"{name}: {breach}" for breach in breaches(subject)]
        except Exception as error:
            error.add_note(f"while checking {name}")
            raise
    if lines:
        # Not a comparison, which pytest would shorten.
        pytest.fail("\n".join(lines), pytrace=False)
