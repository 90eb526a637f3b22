# SPDX-License-Identifier: GPL-3.0-or-later
"""Where collected files go, and how a node's logs become one text."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.collected import (
    log_label,
    merge_logs,
    node_log_name,
    target,
)


@pytest.mark.parametrize(
    ("path", "rank", "expected"),
    [
        ("plan.json", 0, None),
        ("state.json", 1, "nodes/1/state.json"),
        ("logs/rank_03.log", 1, "ranks/rank_03.log"),
        ("logs/rank_03.first.log", 1, "ranks/rank_03.first.log"),
        ("logs/node.log", 1, "nodes/1/node.log"),
        ("errors/rank_0.json", 1, "nodes/1/errors/rank_0.json"),
        ("outputs/rank_03_metrics.jsonl", 1, "outputs/rank_03_metrics.jsonl"),
        ("outputs/report/a.csv", 0, "outputs/report/a.csv"),
        ("outputs/report/a.csv", 2, "outputs/node_2/report/a.csv"),
        ("outputs/../../../etc/passwd", 0, None),
        ("/etc/passwd", 0, None),
        ("outputs/./x", 0, None),
        ("secrets.json", 0, None),
        ("logs/rank_00.log", 1, None),
        ("outputs/rank_07_metrics.jsonl", 1, None),
        ("outputs/rank_x", 1, None),
        ("outputs/a\n!touch b", 0, None),
        ("outputs/caf\udce9", 0, None),
    ],
)
def test_target(path: str, rank: int, expected: str | None) -> None:
    assert target(path, rank, range(2 * rank, 2 * rank + 2)) == expected


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("logs/node.log", "launcher"),
        ("logs/rank_07.first.log", "rank7"),
        ("logs/rank_0_x.log", None),
        ("logs/rank_0_1.log", None),
        ("logs/rank_0.other.log", None),
        ("outputs/rank_0.log", None),
    ],
)
def test_log_label(path: str, label: str | None) -> None:
    assert log_label(path) == label


def test_node_log_name() -> None:
    assert node_log_name(1, "2026-11-20T14:30:52Z") == "logs/node_1_20261120_143052.txt"


@pytest.mark.parametrize("created", ["../../x", "", None, "2026-11-20T14:30:52Z/../x"])
def test_a_time_that_is_none_makes_no_path(created: object) -> None:
    assert node_log_name(1, created) == "logs/node_1.txt"


def test_merge_by_time() -> None:
    merged = merge_logs({"launcher": ["T1Z begin\n", "T4Z end\n"], "rank0": ["T2Z one\n", "T3Z two words\n"]})
    assert list(merged) == [
        "T1Z launcher | begin\n",
        "T2Z rank0 | one\n",
        "T3Z rank0 | two words\n",
        "T4Z launcher | end\n",
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("outputs/rank_03_metrics.jsonl", "outputs/rank_03_metrics.jsonl"),
        ("outputs/rank_07_metrics.jsonl", "outputs/node_1/rank_07_metrics.jsonl"),
        ("logs/rank_00.log", "nodes/1/rank_00.log"),
        ("outputs/rank_x", None),
        ("outputs/../rank_07_x", None),
    ],
)
def test_a_file_of_a_rank_that_the_plan_gives_another_node_stays_in_the_folder_of_its_node(
    path: str, expected: str | None
) -> None:
    assert target(path, 1, range(2, 4), starts_ranks=True) == expected
