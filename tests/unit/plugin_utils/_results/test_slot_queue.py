# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of launches in the queue for a slot."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.slot_queue import Queue, queue_data, queue_lines

RUN = "run_id=run0"
HOLDER = {"run_id": "run0", "node": "n1", "user": "ann", "since": "2026-11-20T14:30:52Z"}
OTHER = {
    "run_id": "run1",
    "nonce": "1" * 32,
    "node": "n1",
    "user": "bob",
    "since": "2026-11-20T14:31:00Z",
    "waits": True,
}
HELD, WAITING = {"holder": HOLDER}, {"ahead": [OTHER]}
CLOSED = "Failed to connect to the host via ssh: ssh: connect to host n1 port 22: Connection refused"
SILENT = {"unreachable": True, "msg": CLOSED}
ANSWERS: list[dict[str, Any]] = [
    {**HELD, "ahead": []},
    {**HELD, **WAITING},
    {**HELD, "ahead": [OTHER] * 2},
    {"holder": None, **WAITING},
    {"holder": None, "ahead": [OTHER] * 2},
    {"holder": {}, "ahead": []},
    {"ahead": [{**OTHER, "admitted": True}]},
    {"failed": True, "msg": "n1: no space left"},
    {"holder": 1, "ahead": 2},
    {"ahead": [None, OTHER]},
    SILENT,
]


def finding(answer: dict[str, Any]) -> Finding:
    return Queue("n1", "gpu", answer).finding(7200, Invocation("ansible-playbook -i lab"))


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_launch_whose_turn_has_not_come(answer: dict[str, Any]) -> None:
    queue = Queue("n1", "gpu", answer)
    assert not queue.admitted
    assert queue.text() != queue.text(7199)


def test_why_a_launch_does_not_start_in_time() -> None:
    assert [finding(answer).check for answer in (HELD, WAITING, SILENT)] == ["slot", "slot", "answer"]
    is_run_stopped = [RUN in str(finding(answer).to_dict()["remedy"]) for answer in (HELD, WAITING)]
    assert is_run_stopped == [True, False], "a launch that waits has no run to stop"


FIRST = {"run_id": "train_1", "nonce": "a", "user": "ann", "since": "2026-11-20T14:30:52Z", "slot": "default"}
SECOND = {"run_id": "train_2\x1b[2J", "nonce": "b", "slot": "gpu", "admitted": True}


def info(node: str, waiting: Any) -> Info:
    return read_infos([(node, {"run": {"phase": "running", "node": node}, "waiting": waiting})])[0]


INFOS = [info("node0", [{**FIRST, "node": "node0"}, SECOND]), info("node1", [{**FIRST, "node": "node1"}])]


def test_each_launch_is_one_line_however_many_nodes_it_waits_on() -> None:
    assert all(line.isprintable() for line in queue_lines(INFOS))
    assert queue_data(INFOS) == [
        {"run_id": "train_1", "user": "ann", "since": FIRST["since"], "slot": "default", "admitted": None},
        {"run_id": "train_2\x1b[2J", "user": None, "since": None, "slot": "gpu", "admitted": True},
    ]


@pytest.mark.parametrize("waiting", [None, "x", 1, {}, [1, "x", None]])
def test_a_node_may_answer_anything(waiting: Any) -> None:
    assert queue_lines([info("node0", waiting)]) == []
