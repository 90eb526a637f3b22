# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_follow`: when it ends, when it asks, when it gives up. Time is a number here."""

from __future__ import annotations

import shlex
from itertools import repeat
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ansible_collections.muster.train.tests.support.following import (
    ALIVE,
    AWAY,
    RUN_DIR,
    Make,
    beating,
    ended,
    outcome,
    reads,
)


def test_a_run_that_ends(make: Make, printed: list[str]) -> None:
    last = reads("succeeded", {"count": 3, "elapsed_s": 7, "progress": {"step": 4, "total_steps": 4}})
    action = make([reads("running", {"count": 1}), last])
    assert outcome(action) == ended("succeeded")
    commands = list(map(shlex.split, action.read))
    assert [words[5:] for words in commands] == [[f"{RUN_DIR}/state.json", f"{RUN_DIR}/heartbeat.json"]] * 2
    assert len({words[4] for words in commands}) == 2, "a marker is new for each read"
    assert (action.asked, action.built) == ([], ["muster.train.run_info"])
    assert printed[-1] == "succeeded  step 4/4  0:07 elapsed"


def test_the_end_is_not_waited_for_a_whole_second(make: Make) -> None:
    """At first by a tenth of the run's age, and ten times a second from three seconds before the end on."""
    steps = [(seconds, min(seconds, 6)) for seconds in range(9)]
    texts = [
        reads("running", {"count": at, "elapsed_s": at, "progress": {"step": step, "total_steps": 6}})
        for at, step in steps
    ]
    action = make(texts, [reads("succeeded", {"count": 9})])
    assert outcome(action) == ended("succeeded")
    assert action.pauses == pytest.approx([0.1, 0.1, 0.2, 0.3] + [0.1] * 5)


def test_a_run_of_ten_seconds_is_read_once_a_second(make: Make) -> None:
    texts = [reads("running", {"count": at, "elapsed_s": elapsed}) for at, elapsed in enumerate([5, 9, 10, 5000])]
    action = make(texts, [reads("succeeded", {"count": 9})])
    assert outcome(action) == ended("succeeded")
    assert action.pauses == pytest.approx([0.5, 0.9, 1.0, 1.0])


def test_a_silent_runner_that_lives_is_followed_on(make: Make) -> None:
    still = reads("running", {"count": 7})
    action = make([still] * 50, [reads("failed", {"count": 7})], answers=[ALIVE, ALIVE])
    assert outcome(action) == ended("failed")
    # Not at every read: after another silence only.
    assert action.asked == [21, 42]


def test_a_silent_runner_that_is_dead_ends_it(make: Make) -> None:
    dead = {"run": {"alive": False, "phase": "lost"}}
    action = make(repeat(reads("running", {"count": 7})), answers=[ALIVE, dead])
    assert outcome(action) == ended("lost")
    assert action.asked == [21, 42]


def test_a_counter_that_moves_is_never_asked_about(make: Make) -> None:
    action = make((text for text, _number in zip(beating(), range(100), strict=False)), [reads("stopped", {})])
    assert outcome(action) == ended("stopped")
    assert action.asked == []


@pytest.mark.parametrize(
    "answer", [{"failed": True, "msg": "no\npython"}, {"msg": "no python"}, AnsibleConnectionFailure("no python")]
)
def test_an_answer_that_says_nothing_does_not_end_it(make: Make, printed: list[str], answer: Any) -> None:
    action = make([reads("running", {"count": 7})] * 30, [reads("failed", {"count": 7})], answers=[answer])
    assert outcome(action) == ended("failed")
    assert action.asked == [21]
    assert [line for line in printed if line.startswith("node0: the run's heartbeat has stopped")] == [
        "node0: the run's heartbeat has stopped, and it is not known whether its runner is alive: "
        "no python; following continues"
    ]


def test_out_of_reach_for_long(make: Make) -> None:
    action = make([reads("running", {"count": 1})], repeat(AWAY), request={"call": "ansible-playbook -i lab"})
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert str(caught.value) == (
        "the head node0 has not been reachable for 60 s (no route to host); nothing was stopped. When it can be read "
        "again:\n"
        "  follow again: ansible-playbook -i lab muster.train.follow -e run_id=run1\n"
        "  stop:         ansible-playbook -i lab muster.train.stop -e run_id=run1"
    )
    # The first failure is at second 1. No node was asked: a connection that is lost says nothing of the runner.
    assert action.seconds == 62
    assert action.asked == []


def test_out_of_reach_for_long_at_the_start(make: Make) -> None:
    """A failure would stop the nodes of a run that may be healthy."""
    action = make(repeat(AWAY), until="running")
    assert outcome(action) == {
        "ended": False,
        "phase": None,
        "interrupted": False,
        "why": "it is not known whether the run has started: the head node0 has not been reachable for 60 s "
        "(no route to host); nothing was stopped, and a run that lacks a node ends by itself",
    }
    assert action.asked == []


def test_out_of_reach_for_a_while(make: Make) -> None:
    """Twice 55 seconds: each success begins anew, and a counter that moved meanwhile was no silence."""
    action = make(
        [reads("running", {"count": 1})],
        [AWAY] * 55,
        [reads("running", {"count": 56})],
        [AWAY] * 55,
        [reads("succeeded", {"count": 112})],
    )
    assert outcome(action) == ended("succeeded")
    assert action.asked == []


def test_a_connection_that_hangs_is_tried_again(make: Make) -> None:
    action = make([AWAY], [reads("succeeded", {"count": 1})])
    action.read_takes = 100
    assert outcome(action) == ended("succeeded")
