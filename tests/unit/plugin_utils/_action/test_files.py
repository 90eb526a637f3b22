# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that two commands write at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.muster.train.plugins.plugin_utils._action.files import make_link, write_text


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
