# SPDX-License-Identifier: GPL-3.0-or-later
"""When a file of a node was changed, which decides between copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._verbs.copies import is_older, modified


@pytest.mark.parametrize("seconds", [None, "x", [], True, -1, 1e300, 10**400, float("nan"), float("inf")])
def test_a_time_that_no_file_can_have(seconds: object) -> None:
    assert modified({"modified": seconds}) == 0


def test_a_time() -> None:
    assert modified({"modified": 1.5}) == 1.5


def test_no_file_is_older_than_none(tmp_path: Path) -> None:
    assert not is_older({"modified": 1}, tmp_path / "none")
