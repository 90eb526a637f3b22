# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of rows that alike nodes share."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import report

WIDTH = 120


def cluster(count: int, **more: dict[str, Any]) -> list[RunRecord]:
    """A run on many nodes, with what some of them have of their own."""
    records = []
    for rank in range(count):
        node = f"n{rank + 1:03d}"
        progress = {"step": 400, "total_steps": 1000, "first_loss": 5.5, "loss": 1.9, "tokens_per_s": 41000.0 + rank}
        record = {"node": node, "node_rank": rank, "phase": "running", "nproc": 8, "first_rank": 8 * rank}
        record |= {"progress": progress, "elapsed_s": 31.2, "pids": [rank + 100]}
        records.append(RunRecord.from_dict({**record, **more.get(node, {})}))
    return records


REASONS = {f"n{number:03d}": {"phase": "failed", "why": f"reason {number}"} for number in range(1, 100)}
ALL_DIFFER = cluster(128, **REASONS)


def test_alike_nodes_share_a_row() -> None:
    assert [row.split()[0] for row in report.status_table(cluster(128), WIDTH)] == ["node", "n[001-128]"]


def test_a_node_that_differs_has_a_row_of_its_own() -> None:
    slow = {"progress": {"step": 400, "total_steps": 1000, "tokens_per_s": 20000.0}}
    rows = report.status_table(cluster(128, n007={"phase": "failed", "why": "out of memory"}, n009=slow), WIDTH)
    assert [row.split("  ")[0] for row in rows[1:]] == ["n[001-006,008,010-128]", "n007", "n009"]
    assert rows[2].endswith("out of memory")
    assert "20,000" in rows[3]


def test_a_few_nodes_have_a_row_each_and_so_have_many_that_are_asked_for() -> None:
    assert len(report.status_table(cluster(8), WIDTH)) == 1 + 8
    assert len(report.status_table(cluster(9), WIDTH)) == 1 + 1
    assert len(report.status_table(cluster(128), WIDTH, every=True)) == 1 + 128


def test_nodes_that_all_differ_fit_the_screen_and_none_is_left_out() -> None:
    lines = report.status_table(ALL_DIFFER, WIDTH)
    assert len(lines) < 30
    assert sum("failed" in line for line in lines) == 15
    assert any(line.startswith("n[015-099] ") for line in lines)


def test_a_host_that_claims_many_ranks_does_not_delay_the_table() -> None:
    rows = report.status_table(cluster(9, n001={"nproc": 1 << 40}, n002={"nproc": 1 << 40}), WIDTH)
    assert rows[1].startswith("n001 and n002 ")
