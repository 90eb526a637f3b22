# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch in the queue says of those before it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._results.turn import Queue

HOLDER = {"run_id": "run0", "node": "n1", "user": "ann", "since": "2026-11-20T14:30:52Z"}
OTHER = {
    "run_id": "run1",
    "nonce": "1" * 32,
    "node": "n1",
    "user": "bob",
    "since": "2026-11-20T14:31:00Z",
    "waits": True,
}
HELD = "waiting on n1: slot gpu is held by run run0 of ann since 2026-11-20T14:30:52Z"
KEPT = "waiting on n1: slot gpu is reserved for run run1 of bob since 2026-11-20T14:31:00Z, which waits for it"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"holder": HOLDER, "ahead": []}, HELD),
        ({"holder": HOLDER, "ahead": [OTHER]}, f"{HELD}; 1 more launch ahead"),
        ({"holder": HOLDER, "ahead": [OTHER] * 2}, f"{HELD}; 2 more launches ahead"),
        ({"holder": None, "ahead": [OTHER]}, KEPT),
        ({"holder": None, "ahead": [OTHER] * 2}, f"{KEPT}; 1 more launch ahead"),
        ({"holder": {}, "ahead": []}, "waiting on n1: slot gpu is held by an unidentified run"),
        ({"ahead": [{**OTHER, "has_come": True}]}, KEPT.replace("waits for it", "is about to start")),
        ({"failed": True, "msg": "n1: no space left"}, "waiting on n1: n1: no space left"),
        ({"holder": 1, "ahead": 2}, "waiting on n1: it did not answer"),
        ({"ahead": [None, OTHER]}, KEPT),
    ],
)
def test_who_is_before_a_launch(answer: dict[str, Any], text: str) -> None:
    queue = Queue("n1", "gpu", answer)
    assert queue.text() == f"{text}; Ctrl-C leaves the queue"
    assert queue.text(7199) == f"{text}; for 1 h 59 min at most; Ctrl-C leaves the queue"
    assert not queue.has_come


def test_why_a_launch_does_not_start_in_time() -> None:
    invocation = Invocation("ansible-playbook -i lab")
    stop = ", or stop it: ansible-playbook -i lab muster.train.stop -e run_id=run0"
    expected = "expected a free slot within 2 h 00 min (-e wait); wait for longer"
    lines = [
        line(Queue("n1", "gpu", answer).finding(7200, invocation))
        for answer in ({"holder": HOLDER}, {"ahead": [OTHER]})
    ]
    assert lines == [
        f"n1: slot: {HELD.partition(': ')[2]}; {expected}{stop}",
        f"n1: slot: {KEPT.partition(': ')[2]}; {expected}",
    ]


def test_a_node_that_does_not_answer_is_explained() -> None:
    message = "Failed to connect to the host via ssh: ssh: connect to host n1 port 22: Connection refused"
    queue = Queue("n1", "gpu", {"unreachable": True, "msg": message})
    text = line(queue.finding(7200, Invocation()))
    assert text.startswith("n1: answer: ssh: connect to host n1 port 22: Connection refused; expected ")
    assert "start sshd there" in text
