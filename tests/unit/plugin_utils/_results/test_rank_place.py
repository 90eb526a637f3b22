# SPDX-License-Identifier: GPL-3.0-or-later
"""On which node a rank is, and where in it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results.rank_place import RankPlace, node_of, place_of

BOX = {"name": "a name of the plan", "docker": ["rm", "-rf"]}
PLAN: dict[str, Any] = {
    "nodes": ["a", "b"],
    "spares": ["c"],
    "nproc": 2,
    "jobs": {
        name: {"node_rank": number, "cwd": f"/code/{name}", "container": None} for number, name in enumerate("abc")
    },
}


def part(node: str, rank: int, **more: Any) -> RunRecord:
    fields = {"run_id": "r", "phase": "running", "nonce": "n", "nproc": 2, "nnodes": 2, "world_size": 4, "node": node}
    return RunRecord.from_dict({**fields, "node_rank": rank, "first_rank": 2 * rank, "alive": True, **more})


def silent(node: str) -> RunRecord:
    return RunRecord(node=node, phase="unreachable", why="no route")


UNPLACED: list[tuple[list[RunRecord], dict[str, Any], int]] = [
    ([part("a", 0), part("b", 1)], PLAN, 9),
    ([part("a", 0, first_rank=None), part("b", 1, first_rank=None)], {}, 1),
]


def test_the_node_that_reports_the_rank() -> None:
    runs = [part("a", 0), part("b", 1), part("c", 2)]
    assert [node_of(runs, PLAN, rank) for rank in range(4)] == ["a", "a", "b", "b"]
    assert [node_of(runs, {}, rank) for rank in (0, 3)] == ["a", "b"]


def test_a_node_that_does_not_answer_has_its_ranks_by_the_plan() -> None:
    assert node_of([part("a", 0), silent("b"), silent("c")], PLAN, 3) == "b"


def test_a_spare_that_took_the_rank() -> None:
    gang = {"replaced": {"b": "c"}}
    assert node_of([part("a", 0, gang=gang), silent("b"), part("c", 1)], PLAN, 2) == "c"
    assert node_of([part("a", 0, gang=gang), silent("b"), silent("c")], PLAN, 2) == "c"


def test_a_rank_that_is_nowhere_or_anywhere() -> None:
    for runs, plan, rank in UNPLACED:
        with pytest.raises(UserError):
            node_of(runs, plan, rank)


def test_the_directory_is_the_plans_and_the_container_the_runs() -> None:
    assert place_of("b", "r", [part("b", 1)], PLAN) == RankPlace("b", "running", "/code/b")
    boxed = {"jobs": {"b": {"node_rank": 1, "cwd": "/code", "container": BOX}}}
    assert place_of("b", "r", [part("b", 1)], boxed).container == "muster-r-1"
    assert place_of("b", "r", [silent("b")], boxed).container == "muster-r-1"
    assert place_of("b", "r", [part("b", 1, phase="failed", alive=False)], boxed).container is None


@pytest.mark.parametrize("jobs", [None, [], {"b": 3}, {"b": {"cwd": 7, "node_rank": "x", "container": {}}}])
def test_a_plan_that_is_none(jobs: object) -> None:
    assert place_of("b", "r", [], {"jobs": jobs}) == RankPlace("b")
