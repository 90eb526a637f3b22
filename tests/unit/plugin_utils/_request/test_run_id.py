# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the run ID: how it is made and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import check as check_run_id
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import label_in
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import make as make_run_id

NONCE = "3f9a" + "0" * 28
NOW = datetime(2026, 11, 20, 14, 30, 52, tzinfo=UTC)


@pytest.mark.parametrize(
    ("channels", "threads", "label", "expected"),
    [
        (42, 256, None, "multinode_42ch_256th_20261120_143052_3f9a"),
        (42, 256, "baseline", "multinode_42ch_256th_20261120_143052_baseline_3f9a"),
        (None, None, None, "multinode_autoch_autoth_20261120_143052_3f9a"),
        (None, 512, "a_b.c-d", "multinode_autoch_512th_20261120_143052_a_b.c-d_3f9a"),
        (8, 64, "cafe", "multinode_8ch_64th_20261120_143052_cafe_3f9a"),
    ],
)
def test_make(channels: int | None, threads: int | None, label: str | None, expected: str) -> None:
    run_id = make_run_id(channels, threads, NOW, label, NONCE)
    assert run_id == expected
    assert check_run_id(run_id) == expected
    assert label_in(run_id) == (label or "")


def test_two_launches_of_one_second_have_two_run_ids() -> None:
    assert make_run_id(42, 256, NOW, None, NONCE) != make_run_id(42, 256, NOW, None, "0" * 32)


def test_the_longest_label_still_makes_a_run_id() -> None:
    run_id = make_run_id(128, 512, NOW, "x" * 40, NONCE)
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize(
    "text", ["/etc/passwd", "../multinode_42ch_256th_20261120_143052", "experiments/x", "..", "a\\b"]
)
def test_a_path_is_refused_as_a_path(text: str) -> None:
    with pytest.raises(ValueError, match=r"a run ID \(a name, not a path\)"):
        check_run_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "multinode_42ch_256th_20261120_143052\n",
        "multinode_42ch_256th_20261120_143052_",
        "multinode_42ch_256th_20261120_143052_-x",
        "multinode_42ch_256th_20261120_143052_" + "x" * 41,
        "multinode_42ch_256th_20261120_143052_" + "x" * 41 + "_3f9a",
        "multinode_42ch_256th_20261120",
        "multinode_٤٢ch_256th_20261120_143052",
        "multinode_42ch_256th_20261120_143052; id",
        " multinode_42ch_256th_20261120_143052",
    ],
)
def test_anything_else_is_refused_with_the_shape(text: str) -> None:
    with pytest.raises(ValueError, match="multinode_42ch_256th_20261120_143052"):
        check_run_id(text)
