# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which ranks a node has: by the plan, and without one by what the nodes say, some of which lie."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import (
    NodeRanks,
    claimed,
    confirm_spares,
    head_candidates,
    place_silent,
    planned,
    ranks_of,
)

RUN_ID = "run_a"
PLAN = {"nodes": ["a", "b"], "spares": ["c"], "nproc": 4}
SPARE, SECOND = NodeRanks(None, 4, 2), NodeRanks(4, 4, 2)
IDLE, TAKER = NodeRanks(None, 4, 2, ()), NodeRanks(None, 4, 2, (4,))


def info(node: str, rank: int | None, **more: Any) -> Info:
    first = None if rank is None else 4 * rank
    fields = {"run_id": RUN_ID, "phase": "succeeded", "nonce": "n", "nproc": 4, "nnodes": 2, "first_rank": first}
    return Info(node, RunRecord(**{**fields, "node": node, "node_rank": rank, **more}))


def test_a_node_that_does_not_answer_keeps_its_ranks() -> None:
    parts = planned(PLAN)
    assert parts is not None
    silent = [RunRecord(node=name, phase="unreachable", why="no route") for name in ("b", "c")]
    placed = place_silent(silent, parts, {})
    assert [(run.node_rank, run.first_rank, run.nproc, run.world_size) for run in placed] == [
        (1, 4, 4, 8),
        (None, None, None, None),
    ]
    placed = place_silent(silent, parts, {"b": "c"})
    assert [run.first_rank for run in placed] == [None, 4], "the spare has them now"
    answered = info("b", 0).run
    assert place_silent([answered], parts, {}) == [answered], "what a node says of itself stays"


def test_ranks_by_the_plan() -> None:
    assert planned(PLAN) == {"a": NodeRanks(0, 4, 2), "b": NodeRanks(4, 4, 2), "c": SPARE}
    assert planned({"nodes": ["a"], "nproc": 1}) == {"a": NodeRanks(0, 1, 1)}


@pytest.mark.parametrize(
    "changes", [{"nodes": "ab"}, {"nodes": []}, {"nodes": ["a", "a"]}, {"nproc": 0}, {"nproc": "4"}, {"spares": ["a"]}]
)
def test_what_is_not_a_plan_gives_no_ranks(changes: dict[str, Any]) -> None:
    assert planned({**PLAN, **changes}) is None
    assert planned(["nodes"]) is None


# A node's part, the first rank and the number of ranks that it claims, which it has, and whether it is refused others.
CLAIMS: list[tuple[NodeRanks | None, int | None, int | None, range, bool]] = [
    (SECOND, 4, 4, range(4, 8), False),
    (SECOND, None, None, range(4, 8), False),
    (SECOND, 0, 4, range(4, 8), True),
    (SECOND, 0, 8, range(4, 8), True),
    (NodeRanks(1, 1, 2), 0, 1, range(1, 2), True),
    (SPARE, 8, 4, range(0), False),  # idle
    (SPARE, 4, 4, range(4, 8), False),
    (SPARE, 0, 4, range(0), True),
    (SPARE, 2, 4, range(0), True),
    (SPARE, 4, 2, range(0), True),
    (IDLE, 4, 4, range(0), True),
    (TAKER, 4, 4, range(4, 8), False),
    (TAKER, 8, 4, range(0), False),
    (None, 4, 4, range(0), True),
    (None, None, None, range(0), False),
]


def claim(
    part: NodeRanks | None, first_rank: int | None, nproc: int | None, by_plan: bool = True
) -> tuple[range, str | None]:
    run = RunRecord(first_rank=first_rank, nproc=nproc)
    return ranks_of(dataclasses.asdict(part) if part else {}, run, by_plan=by_plan)


@pytest.mark.parametrize(("part", "first_rank", "nproc", "expected", "is_refused"), CLAIMS)
def test_what_a_node_says_of_itself(
    part: NodeRanks | None, first_rank: int | None, nproc: int | None, expected: range, is_refused: bool
) -> None:
    ranks, refused = claim(part, first_rank, nproc)
    assert (ranks, refused is not None) == (expected, is_refused)


def test_a_spare_has_only_ranks_that_the_head_gave_away() -> None:
    """What a spare says of itself does not count: the healthy node's files would be replaced by its."""
    parts = planned(PLAN) or {}

    def spare_part(*ranked: str) -> NodeRanks:
        phases = dict.fromkeys(ranked, "succeeded")
        return confirm_spares(parts, RunRecord.from_dict({"gang": {"phases": phases}}))["c"]

    assert spare_part("a", "b") == IDLE
    assert spare_part("a", "c") == TAKER
    assert spare_part() == SPARE  # the run goes on
    assert confirm_spares(parts, RunRecord()) == parts


def test_without_a_plan_no_claim_is_reported_twice() -> None:
    infos = [info("a", 0), info("b", 1), info("c", 0), info("e", 9)]
    parts, refused = claimed(infos, RUN_ID, ["c"])
    assert (parts, len(refused)) == ({"b": NodeRanks(4, 4, 2)}, 2)
    for node in ("a", "c", "e"):
        run = next(item.run for item in infos if item.node == node)
        assert ranks_of({}, run, by_plan=False) == (range(0), None)
    assert claim(SPARE, 0, 4, by_plan=False)[1]


def test_ranks_that_are_not_numbers_are_not_claimed() -> None:
    for first in ("../..", None, 1.5):
        run = RunRecord.from_dict({"first_rank": first, "nproc": 4})
        assert ranks_of({}, run) == (range(0), None)


def test_without_a_plan_each_node_speaks_for_itself() -> None:
    infos = [info("a", 0), info("b", 1), info("c", 2), Info("d", RunRecord(phase="unreachable"), answered=False)]
    assert claimed(infos, RUN_ID, ["c"]) == ({"a": NodeRanks(0, 4, 2), "b": NodeRanks(4, 4, 2), "c": SPARE}, [])
    # A spare that was the head from the start.
    assert claimed([info("b", 1), info("c", 0)], RUN_ID, ["c"])[0] == {"b": NodeRanks(4, 4, 2), "c": NodeRanks(0, 4, 2)}
    assert claimed(infos, "another_run", []) == ({}, [])


TWINS = [info("a", 0), info("b", 0), info("e", 1)]
ODD: list[dict[str, Any]] = [
    *({"first_rank": 0}, {"nproc": 8}, {"nproc": 1 << 40}, {"nnodes": 9}, {"nonce": "m"}, {"node_rank": None})
]


def claims_of(more: dict[str, Any]) -> tuple[dict[str, NodeRanks], list[str]]:
    return claimed([info("a", 0), info("e", 1), info("b", 1, **more)], RUN_ID, [])


def test_two_that_say_the_same_get_nothing() -> None:
    parts, refused = claimed(TWINS, RUN_ID, [])
    assert (parts, len(refused)) == ({"e": NodeRanks(4, 4, 2)}, 1)


@pytest.mark.parametrize("more", ODD)
def test_one_that_does_not_fit_the_others_gets_nothing(more: dict[str, Any]) -> None:
    parts, refused = claims_of(more)
    assert (parts, len(refused)) == ({"a": NodeRanks(0, 4, 2), "e": NodeRanks(4, 4, 2)}, 1)


def test_only_the_first_node_and_spares_can_be_the_head() -> None:
    infos = [info("a", 0, created="2026-11-20T10:00:00Z"), info("b", 0), info("c", 0, created="2026-11-20T11:00:00Z")]
    assert head_candidates(infos, RUN_ID, ["a", "b"], ["c"]) == ["c", "a"]
    assert head_candidates(infos, RUN_ID, ["a", "b"], []) == ["a"]
    assert head_candidates(infos, "another_run", ["a", "b"], ["c"]) == []
