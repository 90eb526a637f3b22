# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the action `step` writes."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.action import step
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import WantedFile


def write(*files: WantedFile, is_checked: bool = False) -> tuple[bool, list[str]]:
    """Write files; return whether any has changed, and the paths of the differences."""
    action = step.ActionModule.__new__(step.ActionModule)
    action._task = MagicMock(check_mode=is_checked)
    has_changed, diffs = action._write(files, None)
    return has_changed, [diff["after_header"] for diff in diffs]


def test_a_file_is_written_once_as_a_whole(tmp_path: Path) -> None:
    file = WantedFile(tmp_path / "out" / "a", "text", "option")
    assert write(file, is_checked=True) == (True, [str(file.path)])
    assert not file.path.parent.exists()
    assert write(file) == (True, [str(file.path)])
    assert (file.path.read_text(), write(file)) == ("text", (False, []))


def test_another_text_that_means_the_same_is_written_and_is_no_change(tmp_path: Path) -> None:
    file = WantedFile(tmp_path / "a", "new", "option", is_same=lambda before: before == "old", is_refreshed=True)
    file.path.write_text("old")
    assert write(file, is_checked=True) == (False, [])
    assert file.path.read_text() == "old"
    assert (write(file), file.path.read_text()) == ((False, []), "new")


def test_a_file_without_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(step, "show", printed.extend)
    files = WantedFile(tmp_path / "a", "a", "option", has_diff=False), WantedFile(tmp_path / "b", "b", "b", note="b")
    assert (write(*files, is_checked=True), printed) == ((True, []), [])
    assert (write(*files), printed) == ((True, []), ["b"])


def test_a_file_that_cannot_be_written_names_its_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"page: .*/file/a could not be written .*; expected a page"):
        write(WantedFile(tmp_path / "file" / "a", "", "page", "a page"))
