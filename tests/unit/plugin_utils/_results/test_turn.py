# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch in the queue says of those before it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._results.turn import Queue

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
    {"ahead": [{**OTHER, "has_come": True}]},
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
    assert not queue.has_come
    assert queue.text() != queue.text(7199)


def test_why_a_launch_does_not_start_in_time() -> None:
    assert [finding(answer).check for answer in (HELD, WAITING, SILENT)] == ["slot", "slot", "answer"]
    is_run_stopped = [RUN in str(finding(answer).to_dict()["remedy"]) for answer in (HELD, WAITING)]
    assert is_run_stopped == [True, False], "a launch that waits has no run to stop"
