# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_collect`: what a node says of its files."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.action.run_collect import _modified


@pytest.mark.parametrize("modified", [None, "x", [], True, -1, 1e300, 10**400, float("nan"), float("inf")])
def test_a_time_that_no_file_can_have(modified: object) -> None:
    assert _modified({"modified": modified}) == 0


def test_a_time() -> None:
    assert _modified({"modified": 1.5}) == 1.5
