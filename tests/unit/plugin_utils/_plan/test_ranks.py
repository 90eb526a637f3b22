# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the ranks: how many every node starts."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line
from ansible_collections.muster.train.plugins.plugin_utils._plan.ranks import Count, count, visible


def test_the_parameter_wins_over_the_gpus() -> None:
    assert count(2, "-e nproc", {"a": 0, "b": None, "c": 8}) == (Count(2, "-e nproc"), [])


def test_by_default_one_rank_per_gpu() -> None:
    assert count(None, "default", {"a": 8, "b": 8}) == (Count(8, "one per GPU"), [])


def test_without_gpus_one_rank_per_node() -> None:
    assert count(None, "default", {"a": 0, "b": 0}) == (Count(1, "no GPU: one rank per node"), [])


def test_more_ranks_than_gpus_are_worth_a_warning() -> None:
    decided, findings = count(8, "-e nproc", {"a": 8, "b": 7})
    assert decided.nproc == 8
    assert [(finding.node, finding.status, finding.observed) for finding in findings] == [
        ("b", "warn", "8 ranks on 7 GPUs")
    ]


def test_a_node_with_another_number_of_gpus_is_named_with_the_others() -> None:
    decided, findings = count(None, "default", {"a": 8, "b": 7, "c": 8})
    assert decided.nproc == 8
    assert [(finding.node, finding.status) for finding in findings] == [("b", "fail")]
    assert line(findings[0]).startswith("b: nproc: 7 GPUs; expected one number of ranks on all nodes, 8 as on a and c ")
    assert "-e nproc=N" in str(findings[0].remedy)


def test_at_a_draw_the_head_is_right() -> None:
    _count, findings = count(None, "default", {"a": 4, "b": 8})
    assert [finding.node for finding in findings] == ["b"]


def test_a_node_without_gpus_among_one_gpu_nodes_has_as_many_ranks() -> None:
    assert count(None, "default", {"a": 1, "b": 0}) == (Count(1, "one per GPU"), [])


def test_unread_gpus_are_an_error_only_where_they_decide() -> None:
    _count, findings = count(None, "default", {"a": 8, "b": None})
    assert [(finding.node, finding.status) for finding in findings] == [("b", "error")]


@pytest.mark.parametrize(
    ("values", "number"),
    [
        ({}, 8),
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, 4),
        ({"CUDA_VISIBLE_DEVICES": 0}, 1),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1, GPU-2"}, 2),
        ({"HIP_VISIBLE_DEVICES": "2,-1,3"}, 1),
        ({"CUDA_VISIBLE_DEVICES": ""}, 0),
        ({"ROCR_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7,8,9"}, 8),
    ],
)
def test_ranks_have_the_gpus_that_they_see(values: dict[str, object], number: int) -> None:
    assert visible(8, values) == number
