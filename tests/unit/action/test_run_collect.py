# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
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
