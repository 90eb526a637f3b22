# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that two commands, or the workers of one, write at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible import constants

from ansible_collections.muster.train.plugins.plugin_utils._action.files import make_link, make_once, write_text


def test_two_commands_write_one_file_and_one_link(tmp_path: Path) -> None:
    def write(name: str) -> None:
        for _time in range(200):
            make_link(tmp_path / "latest", name, is_newest=True)
            write_text(tmp_path / "file", name * 1000, "option", "a file")

    names = ["a", "b"]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, names)) == [None, None]
    assert str((tmp_path / "latest").readlink()) in names
    assert (tmp_path / "file").read_text() in [name * 1000 for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "latest"]


def test_a_text_is_made_by_one_worker_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(constants), "DEFAULT_LOCAL_TMP", str(tmp_path))
    made: list[str] = []

    def make() -> str:
        made.append(f"text {len(made)}")
        return made[-1]

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _number: make_once("one", make), range(8))) == {"text 0"}
    assert make_once("another", make) == "text 1"


def test_a_text_that_could_not_be_made_is_made_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(constants), "DEFAULT_LOCAL_TMP", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        make_once("one", lambda: str(1 // 0))
    assert make_once("one", lambda: "text") == "text"
