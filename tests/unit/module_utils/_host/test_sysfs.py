# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of sysfs: a line, a number, a word, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import sysfs
from ansible_collections.muster.train.tests.support.machines import Machine


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("0", 0),
        ("42", 42),
        ("0x12a", 298),
        ("-1", None),
        ("N/A (no PMA)", None),
        ("", None),
        (None, None),
        ("\u0663", None),
        ("9" * 5000, None),
        ("1 2", None),
    ],
)
def test_numbers(value: str | None, number: int | None) -> None:
    assert sysfs.number(value) == number


@pytest.mark.parametrize(
    ("value", "word"),
    [("4: ACTIVE", "ACTIVE"), ("1: CA", "CA"), ("6: usNIC UDP", "usNIC UDP"), ("CA", "CA"), ("4:", "4:"), (None, None)],
)
def test_words(value: str | None, word: str | None) -> None:
    assert sysfs.word(value) == word


def test_an_attribute_is_a_line_that_says_something(tmp_path: Path) -> None:
    manifest = {"files": {"/sys/a": "x y\n", "/sys/b": "\n", "/sys/d/c": "z"}, "errors": {"/sys/e": "EINVAL"}}
    machine = Machine(manifest, tmp_path)
    assert [sysfs.text(machine, f"/sys/{name}") for name in "abe"] == ["x y", None, None]
    assert sysfs.text(machine, "/sys/d") is None
    assert sysfs.texts(machine, "/sys", ["a", "b", "d", "e", "no"]) == {"a": "x y"}
    assert sysfs.texts(machine, "/no", ["a"]) == {}


UNLISTED = {"files": {"/sys/file": "x"}, "links": {"/sys/loop": "loop", "/sys/gone": "../nowhere"}}


def test_why_a_directory_cannot_be_listed(tmp_path: Path) -> None:
    machine = Machine(UNLISTED, tmp_path)
    names = ("", "/absent", "/loop", "/file", "/gone")
    assert [bool(sysfs.cannot_list(machine, f"/sys{name}")) for name in names] == [False, False, True, True, True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; test_broken_trees.py does it as nobody")
def test_why_a_user_cannot_list_a_directory(tmp_path: Path) -> None:
    machine = Machine({"directories": ["/sys/closed/inner"]}, tmp_path)
    (tmp_path / "sys/closed").chmod(0)
    try:
        assert sysfs.cannot_list(machine, "/sys/closed")
        assert sysfs.cannot_list(machine, "/sys/closed/inner")
    finally:
        (tmp_path / "sys/closed").chmod(0o700)
