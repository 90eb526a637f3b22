# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the ranks: how many every node starts."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._plan.ranks import count
from ansible_collections.muster.train.tests.support.cases import Outcome, outcomes


def decided(nproc: int | None, gpus: dict[str, int | None]) -> tuple[int, list[Outcome]]:
    """How many ranks every node starts, and what is found."""
    result, findings = count(nproc, "-e nproc" if nproc else "default", gpus)
    return result.nproc, outcomes(findings)


def test_the_parameter_wins_over_the_gpus() -> None:
    assert decided(2, {"a": 0, "b": None, "c": 8}) == (2, [])


def test_by_default_one_rank_per_gpu() -> None:
    assert decided(None, {"a": 8, "b": 8}) == (8, [])


def test_without_gpus_one_rank_per_node() -> None:
    assert decided(None, {"a": 0, "b": 0}) == (1, [])


def test_more_ranks_than_gpus_are_worth_a_warning() -> None:
    assert decided(8, {"a": 8, "b": 7}) == (8, [("nproc", "b", "warn")])


def test_a_node_with_another_number_of_gpus_is_found() -> None:
    assert decided(None, {"a": 8, "b": 7, "c": 8}) == (8, [("nproc", "b", "fail")])


def test_at_a_draw_the_head_is_right() -> None:
    assert decided(None, {"a": 4, "b": 8}) == (4, [("nproc", "b", "fail")])


def test_a_node_without_gpus_among_one_gpu_nodes_has_as_many_ranks() -> None:
    assert decided(None, {"a": 1, "b": 0}) == (1, [])


def test_unread_gpus_are_an_error_only_where_they_decide() -> None:
    assert decided(None, {"a": 8, "b": None}) == (1, [("nproc", "b", "error")])
