# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the action `step` writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.action import step
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Symlink, WantedFile


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Let everybody read what is created, except private files."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def write(*files: WantedFile, links: Sequence[Symlink] = (), is_checked: bool = False) -> tuple[bool, list[str]]:
    """Write files; return whether any has changed, and the paths of the differences."""
    action = step.ActionModule.__new__(step.ActionModule)
    action._task = MagicMock(check_mode=is_checked)
    has_changed, diffs = action._write(files, links)
    return has_changed, [diff["after_header"] for diff in diffs]


def modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


def test_a_file_is_written_once_as_a_whole(tmp_path: Path) -> None:
    file = WantedFile(tmp_path / "out" / "a", "text", "option")
    assert write(file, is_checked=True) == (True, [str(file.path)])
    assert not file.path.parent.exists()
    assert write(file) == (True, [str(file.path)])
    assert (file.path.read_text(), write(file)) == ("text", (False, []))
    assert [path.name for path in file.path.parent.iterdir()] == ["a"]


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
    with pytest.raises(UserError, match=r"^page: .*/file/a "):
        write(WantedFile(tmp_path / "file" / "a", "", "page", "a page"))


def test_a_private_file_is_for_its_owner(tmp_path: Path, open_umask: None) -> None:
    home = tmp_path / "experiments" / "run"
    private, shared = (WantedFile(home / name, "", "option", is_private=name == "a") for name in ("a", "b"))
    write(private, shared)
    assert modes(home.parent, home, private.path, shared.path) == [0o700, 0o700, 0o600, 0o644]


def test_an_experiment_that_was_opened_to_others_stays_so(tmp_path: Path, open_umask: None) -> None:
    home, old = tmp_path / "run", tmp_path / "run" / "old"
    home.mkdir()
    old.write_text("before")
    home.chmod(0o750)
    write(WantedFile(home / "new", "", "option", is_private=True), WantedFile(old, "", "option", is_private=True))
    assert modes(home, home / "new", old) == [0o750, 0o600, 0o600]


def test_a_step_goes_on_without_a_file_that_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    files = [WantedFile(tmp_path / name, "", "option", is_needed=False, has_diff=False) for name in ("file/a", "b")]
    assert write(*files, links=[Symlink(tmp_path / "latest", "b", is_newest=True)]) == (False, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "file"]


def test_a_link_is_made_with_a_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, targets = tmp_path / "latest", []
    make = Path.symlink_to

    def follow(path: Path, target: str) -> None:
        make(path, target)
        targets.append(str(link.readlink()))

    link.symlink_to("earlier")
    monkeypatch.setattr(Path, "symlink_to", follow)
    file = WantedFile(tmp_path / "run" / "run.yml", "", "option")
    write(file, links=[Symlink(link, "run", is_newest=True)], is_checked=True)
    assert targets == []
    write(file, links=[Symlink(link, "run", is_newest=True)])
    assert (targets, str(link.readlink())) == (["earlier"], "run")  # it leads somewhere at all times
    write(file, links=[Symlink(link, "another", is_newest=True)])
    assert str(link.readlink()) == "run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run"]


def test_a_file_under_its_earlier_name_is_removed(tmp_path: Path) -> None:
    file = WantedFile(tmp_path / "report.html", "text", "option", former=tmp_path / "sweep.html")
    (tmp_path / "sweep.html").write_text("stale")
    write(file, is_checked=True)
    assert (tmp_path / "sweep.html").exists()
    write(file)
    write(file)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
