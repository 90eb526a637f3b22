# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of log lines as the user reads them."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._results import report
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos

RUNS = {node: {"node": node, "phase": "running"} for node in ("node0", "node1")}


def entry(node: str, rank: int | None, time: str, text: str) -> dict[str, Any]:
    return {"node": node, "rank": rank, "time": time, "text": text}


STEP_1 = entry("node0", 0, "2026-11-20T14:30:52.100Z", "step 1")
STEP_2 = entry("node1", 12, "2026-11-20T14:30:52.200Z", "step 2  ")
TALK = entry("node0", None, "2026-11-20T14:30:52.300Z", "torchrun says\x1b[0m {{ x }}")
LOGS = read_infos(
    [
        ("node0", {"run": RUNS["node0"], "log": [STEP_1, TALK]}),
        ("node1", {"run": RUNS["node1"], "log": [STEP_2]}),
        ("node2", {"failed": True, "msg": "boom"}),
    ]
)


def test_log_lines_are_merged_by_time() -> None:
    assert report.log_lines(LOGS, 50) == [
        "2026-11-20 14:30:52.100 node0/rank0  | step 1",
        "2026-11-20 14:30:52.200 node1/rank12 | step 2",
        "2026-11-20 14:30:52.300 node0/-      | torchrun says {{ x }}",
    ]


def test_log_lines_the_last_of_a_node_or_rank() -> None:
    assert [line[24:] for line in report.log_lines(LOGS, 1)] == ["node0/- | torchrun says {{ x }}"]
    assert [line[24:] for line in report.log_lines(LOGS, None, node="node1")] == ["node1/rank12 | step 2"]
    assert [line[24:] for line in report.log_lines(LOGS, 50, rank=0)] == ["node0/rank0 | step 1"]
    assert report.log_lines(LOGS, 50, node="node0", rank=12) == []
    assert report.log_lines([], 50) == []


def test_a_line_without_a_time_comes_first() -> None:
    odd = read_infos([("node0", {"run": RUNS["node0"], "log": [entry("node0", 0, "", "odd")]})])
    assert report.log_lines([*LOGS, *odd], 50)[0] == " " * 24 + "node0/rank0  | odd"
