# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person and a program read of launches that wait for a slot."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.waiting import data, lines

FIRST = {"run_id": "train_1", "nonce": "a", "user": "ann", "since": "2026-11-20T14:30:52Z", "slot": "default"}
SECOND = {"run_id": "train_2\x1b[2J", "nonce": "b", "slot": "gpu", "has_come": True}


def info(node: str, waiting: Any) -> Info:
    return read_infos([(node, {"run": {"phase": "running", "node": node}, "waiting": waiting})])[0]


INFOS = [info("node0", [{**FIRST, "node": "node0"}, SECOND]), info("node1", [{**FIRST, "node": "node1"}])]


def test_each_launch_is_one_line_however_many_nodes_it_waits_on() -> None:
    assert all(line.isprintable() for line in lines(INFOS))
    assert data(INFOS) == [
        {"run_id": "train_1", "user": "ann", "since": FIRST["since"], "slot": "default", "has_come": None},
        {"run_id": "train_2\x1b[2J", "user": None, "since": None, "slot": "gpu", "has_come": True},
    ]


@pytest.mark.parametrize("waiting", [None, "x", 1, {}, [1, "x", None]])
def test_a_node_may_answer_anything(waiting: Any) -> None:
    assert lines([info("node0", waiting)]) == []
