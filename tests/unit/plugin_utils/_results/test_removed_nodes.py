# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a run's nodes that are not in the inventory: each has a row, with all that the head or the plan knows."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import NodeRanks
from ansible_collections.muster.train.plugins.plugin_utils._results.removed_nodes import NOT_HERE, add_removed_nodes
from ansible_collections.muster.train.plugins.plugin_utils._results.report import status_table

PARTS = {f"n{rank}": NodeRanks(4 * rank, 4, 3) for rank in range(3)}


def head(**more: Any) -> dict[str, Any]:
    place = {"node_rank": 0, "first_rank": 0, "nproc": 4, "nnodes": 3, "world_size": 12}
    return {"node": "n0", "run_id": "run1", "phase": "running", "alive": True, **place, **more}


def status(rank: int, **more: Any) -> dict[str, Any]:
    return {"node": f"n{rank}", "number": rank, "node_rank": rank, "state": "running", "heard_s": 0.5, **more}


def rows(infos: list[Info]) -> list[tuple[Any, ...]]:
    return [(info.node, info.run.phase, info.run.first_rank, info.answered) for info in infos]


STATUSES = [status(0), status(1), status(2, state="lost", heard_s=40.0)]
INFOS = add_removed_nodes(read_infos([("n0", {"run": head(), "nodes": STATUSES})]), ["n0"], {}, {})


def test_the_head_knows_what_a_node_outside_does() -> None:
    assert rows(INFOS) == [("n0", "running", 0, True), ("n1", "running", 4, True), ("n2", "unknown", 8, False)]
    lines = status_table([info.run for info in INFOS], 160, outside=["n1", "n2"])
    assert [line.endswith(NOT_HERE) for line in lines[1:]] == [False, True, True]
    assert [info.finding is not None for info in INFOS] == [False, False, True]


def test_without_the_statuses_how_the_nodes_ended_is_known() -> None:
    gang = {"phases": {"n0": "failed", "n1": "succeeded", "n2": None}}
    infos = add_removed_nodes(
        read_infos([("n0", {"run": head(phase="failed", alive=False, gang=gang)})]), ["n0"], PARTS, {}
    )
    assert rows(infos) == [("n0", "failed", 0, True), ("n1", "succeeded", 4, False), ("n2", "unknown", 8, False)]


def test_without_the_head_the_plan_has_the_ranks() -> None:
    infos = read_infos([("n1", {"run": {**head(), "node": "n1", "node_rank": 1, "first_rank": 4}})])
    assert rows(add_removed_nodes(infos, ["n1"], PARTS, {})) == [
        ("n0", "unknown", 0, False),
        ("n1", "running", 4, True),
        ("n2", "unknown", 8, False),
    ]
    assert rows(add_removed_nodes(infos, ["n1"], {}, {})) == [("n1", "running", 4, True)]


def test_a_node_whose_ranks_a_spare_took_has_no_row_nor_has_an_idle_spare() -> None:
    answer = {"run": head(), "nodes": [status(0), status(1), status(2), status(3, node_rank=None)]}
    infos = add_removed_nodes(read_infos([("n0", answer)]), ["n0", "n9"], PARTS, {"n2": "n9"})
    assert [info.node for info in infos] == ["n0", "n1"]
