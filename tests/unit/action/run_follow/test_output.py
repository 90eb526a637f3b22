# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_follow`: what it prints, of garbage too, and what it says when it is interrupted."""

from __future__ import annotations

import json
from itertools import repeat

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.progress import clock
from ansible_collections.muster.train.tests.support.following import AWAY, Make, beating, ended, outcome, reads


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"count": 1}',  # the heartbeat without a state
        reads("running", {"count": 1, "elapsed_s": float("nan")}),
    ],
)
def test_garbage_is_no_sample(make: Make, printed: list[str], text: str) -> None:
    action = make([text], [reads("succeeded", {"count": 2})])
    assert outcome(action) == ended("succeeded")
    assert printed == ["succeeded, no metrics reported  0:00 elapsed"]


@pytest.mark.parametrize(
    "heartbeat", [[], 1, {"count": "x"}, {"count": None}, {"elapsed_s": "x"}, {"elapsed_s": 10**400}]
)
def test_a_state_is_read_whatever_the_heartbeat_is(make: Make, printed: list[str], heartbeat: object) -> None:
    action = make([reads("succeeded", heartbeat)])
    assert outcome(action) == ended("succeeded")
    assert printed == ["succeeded, no metrics reported  0:00 elapsed"]


def test_garbage_for_long_is_a_silence(make: Make) -> None:
    action = make(repeat("[]"), answers=[{"run": {"alive": False, "phase": "not_found"}}])
    assert outcome(action) == ended("not_found")
    assert action.asked == [21]


def test_a_runner_that_has_not_beaten_yet(make: Make, printed: list[str]) -> None:
    action = make(['{"phase": "waiting"}\n'], [reads("succeeded", {"count": 1})])
    assert outcome(action) == ended("succeeded")
    assert printed[0] == "waiting  no step yet  0:00 elapsed"


def test_elsewhere_than_on_a_terminal_only_what_changed_is_printed(make: Make, printed: list[str]) -> None:
    def at(seconds: int, step: int) -> str:
        return reads("running", {"count": seconds, "elapsed_s": seconds, "progress": {"step": step, "total_steps": 9}})

    steps = [1] * 20 + [2] * 20 + [3, 4, 5, 6, 7]
    texts = [at(seconds, step) for seconds, step in enumerate(steps, 1)]
    assert outcome(make(texts, [reads("succeeded", {"count": 99, "elapsed_s": 46})])) == ended("succeeded")
    assert [line.partition("  ETA")[0] for line in printed] == [
        "running  step 1/9  0:01 elapsed",
        "running  step 2/9  0:21 elapsed",
        # Not more often than every ten seconds.
        "running  step 3/9  0:41 elapsed",
        "succeeded, no metrics reported  0:46 elapsed",
    ]


def test_what_is_left_is_estimated_from_the_steps_of_this_attempt(make: Make, printed: list[str]) -> None:
    def at(seconds: int, attempt: int, step: int) -> str:
        state = {"phase": "running", "attempt": attempt}
        beat = {"count": seconds, "elapsed_s": seconds, "progress": {"step": step, "total_steps": 200}}
        return f"{json.dumps(state)}\n{json.dumps(beat)}\n"

    slow, fast = (
        [at(second, 0, second // 2) for second in range(1, 200)],
        [at(200 + n, 1, 99 + n) for n in range(1, 30)],
    )
    assert outcome(make(slow, fast, [reads("succeeded", {"count": 999, "elapsed_s": 300})])) == ended("succeeded")
    line = printed[-2]
    assert line.startswith("running, attempt 2")
    left = 200 - int(line.partition("step ")[2].partition("/")[0])
    assert line.endswith(f"ETA {clock(left)}"), "a step a second, and not one in two as before"


def test_a_run_that_says_nothing_for_long_is_mentioned_now_and_then(make: Make, printed: list[str]) -> None:
    texts = [
        reads("running", {"count": number, "elapsed_s": number, "progress": {"step": 1}}) for number in range(1, 701)
    ]
    assert outcome(make(texts, [reads("failed", {"count": 701, "elapsed_s": 701})])) == ended("failed")
    assert [line.split()[3] for line in printed[:-1]] == ["0:01", "5:01", "10:01"]


def test_without_a_step_for_long_it_says_once_where_to_look(make: Make, printed: list[str]) -> None:
    texts = [reads("running", {"count": number, "elapsed_s": number}) for number in range(1, 100)]
    action = make(
        texts, [reads("succeeded", {"count": 100, "elapsed_s": 100})], request={"call": "ansible-playbook -i lab"}
    )
    assert outcome(action) == ended("succeeded")
    assert printed == [
        "running  no step yet  0:01 elapsed",
        "no progress yet: ansible-playbook -i lab muster.train.logs -e run_id=run1",
        "succeeded, no metrics reported  1:40 elapsed",
    ]


@pytest.mark.parametrize("total", [float("inf"), 10**400])
def test_odd_progress_is_shown_as_far_as_it_goes(make: Make, printed: list[str], total: float) -> None:
    texts = [
        reads(phase, {"count": step, "elapsed_s": step, "progress": {"step": step, "total_steps": total}})
        for step, phase in enumerate(("running", "succeeded"))
    ]
    assert outcome(make(texts)) == ended("succeeded")
    assert printed[-1].startswith("succeeded  step 1")
    assert printed[-1].endswith("0:01 elapsed")


def test_interrupted(make: Make, printed: list[str]) -> None:
    action = make(beating(), request={"call": "ansible-playbook -i lab"})
    action.interrupt_at = 3
    assert outcome(action) == {"ended": False, "phase": "running", "interrupted": True}
    assert printed[-3:] == [
        "run1 is still running; nothing was collected",
        "  follow again: ansible-playbook -i lab muster.train.follow -e run_id=run1",
        "  stop:         ansible-playbook -i lab muster.train.stop -e run_id=run1",
    ]


def test_interrupted_before_the_head_was_seen(make: Make, printed: list[str]) -> None:
    action = make(repeat(AWAY))
    action.interrupt_at = 3
    assert outcome(action) == {"ended": False, "phase": None, "interrupted": True}
    assert printed[0] == "run1 is still active; nothing was collected"
