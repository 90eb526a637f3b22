# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_follow` on a head whose files its user cannot read: a module tells what they hold."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.muster.train.tests.support.following import ALIVE, Make, Unframed, ended, outcome

TALK = Unframed('\x1b]0;gpu01\x07{"phase": "failed"}\n')
OBSERVED = '(observed: {"phase": "failed"})'


def test_what_a_read_hides_a_module_tells(make: Make, printed: list[str]) -> None:
    over = {"run": {"alive": False, "phase": "succeeded", "elapsed_s": 40}}
    action = make(repeat(TALK), answers=[ALIVE, ALIVE, over])
    assert outcome(action) == ended("succeeded")
    assert action.asked == [21, 42, 63]
    assert printed == [
        f"node0: the state of the run could not be read as a file {OBSERVED}; a module reads it every 20 s instead",
        "running  no step yet  0:00 elapsed",
        "succeeded, no metrics reported  0:40 elapsed",
    ]


def test_a_start_that_cannot_be_read_is_no_failure(make: Make) -> None:
    """A run that began, or succeeded, while nothing could be read has started."""
    for run in (
        {"alive": True, "phase": "running", "started": "2026-11-20T14:30:52Z", "gang": {"nodes": 2}},
        {"alive": False, "phase": "succeeded", "started": "2026-11-20T14:30:52Z"},
    ):
        action = make(repeat(TALK), answers=[{"run": run}], until="running")
        assert outcome(action) == {"ended": not run["alive"], "phase": run["phase"], "interrupted": False}


NOTHING_READ = (
    f"the state of the run on the head node0 could not be read for 120 s, neither as a file {OBSERVED} nor by a module "
)


def test_nothing_readable_is_not_waited_for_for_ever(make: Make) -> None:
    action = make(repeat(TALK), answers=[{"failed": True, "msg": "no python"}] * 9)
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert str(caught.value) == (
        f"{NOTHING_READ}(no python); nothing was stopped. When it can be read again:\n"
        "  follow again: ansible-playbook muster.train.follow -e run_id=run1\n"
        "  stop:         ansible-playbook muster.train.stop -e run_id=run1"
    )


def test_a_start_of_which_nothing_is_readable_is_no_failure(make: Make) -> None:
    """A failure would stop the nodes of a run that may be healthy."""
    action = make(repeat(TALK), answers=[{"failed": True, "msg": "no python"}] * 9, until="running")
    assert outcome(action) == {
        "ended": False,
        "phase": None,
        "interrupted": False,
        "why": f"it is not known whether the run has started: {NOTHING_READ}(no python); nothing was stopped, "
        "and a run that lacks a node ends by itself",
    }


def test_a_run_that_is_not_followed_fails_with_the_reason(make: Make) -> None:
    action = make(repeat(TALK), why="it is not known whether the run has started")
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert str(caught.value) == "run1: it is not known whether the run has started"
    assert (action.read, action.asked) == ([], [])


def test_a_start_whose_reason_is_not_known(make: Make) -> None:
    """A reason is never None."""
    over = {"run": {"alive": False, "phase": "failed"}}
    assert outcome(make(repeat(TALK), answers=[over], until="running")) == {
        "failed": True,
        "msg": "the run failed before it started; a runner that came late ends within a minute",
        "reported": True,
    }


@pytest.mark.parametrize(
    ("phase", "why", "message"),
    [
        ("failed", "cannot start train", "node0: cannot start train"),
        ("stopped", "node1: cannot start train", "node1: cannot start train"),
    ],
)
def test_a_start_that_failed_names_the_node(make: Make, phase: str, why: str, message: str) -> None:
    """The head's own reason does not say whose it is."""
    over = {"run": {"alive": False, "phase": phase, "why": why}}
    assert outcome(make(repeat(TALK), answers=[over], until="running")) == {
        "failed": True,
        "msg": f"{message}; a runner that came late ends within a minute",
        "reported": True,
    }


@pytest.mark.parametrize(
    "run", [{"alive": True, "phase": "x"}, {"alive": True, "phase": "running", "elapsed_s": 1e999}]
)
def test_a_node_that_lies_is_not_waited_for_for_ever(make: Make, run: dict[str, Any]) -> None:
    action = make(repeat(TALK), answers=[{"run": run}] * 9)
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert "nor by a module (its answer has no state of the run); nothing was stopped" in str(caught.value)
