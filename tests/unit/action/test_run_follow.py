# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_follow`: when it ends, when it asks, when it gives up. Time is a number here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, repeat
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ansible_collections.muster.train.plugins.action import run_follow as follow


class Unframed(str):
    """What a read prints that has no markers."""


# What one read gives: the lines of state and heartbeat, or the connection's failure.
Read = str | AnsibleConnectionFailure
RUN_DIR = "/w/.muster/nodes/node0/runs/run1"
ARGS = {
    "run_dir": RUN_DIR,
    "workdir": "/w",
    "run_id": "run1",
    "node": "node0",
    "docker": ["sudo", "docker"],
}
ALIVE = {"run": {"alive": True, "phase": "running"}}
AWAY = AnsibleConnectionFailure("no route to host")
# An endless following would make a test endless.
MOST_READS = 2000


def reads(phase: str, beat: object) -> str:
    return f"{json.dumps({'phase': phase})}\n{beat if isinstance(beat, str) else json.dumps(beat)}\n"


def beating() -> Iterator[str]:
    return (reads("running", {"count": number, "elapsed_s": number}) for number in count(1))


class Fake(follow.ActionModule):
    """Reads and answers from lists; waiting costs a second of a clock that nothing else moves."""

    def __init__(self, texts: Iterator[Read], answers: Sequence[dict[str, Any] | Exception], **args: Any) -> None:
        task = MagicMock(args={**ARGS, **args}, async_val=0, check_mode=False)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        self.texts, self.answers = texts, iter(answers)
        self.seconds = 0.0
        self.read: list[str] = []
        self.asked: list[float] = []
        self.pauses: list[float] = []
        self.interrupt_at: float | None = None
        self.read_takes: float = 0.0

    def _clock(self) -> float:
        return self.seconds

    def _wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.seconds += 1
        return self.seconds != self.interrupt_at

    def _low_level_execute_command(self, *words: Any, **_options: Any) -> dict[str, Any]:
        assert len(self.read) < MOST_READS, "it goes on for ever"
        self.read.extend(words)
        self.seconds += self.read_takes
        text = next(self.texts)
        if isinstance(text, AnsibleConnectionFailure):
            raise text
        if isinstance(text, Unframed):
            return {"rc": 0, "stdout": text}
        marker, state, beat = shlex.split(words[0])[4], *(*text.splitlines(), "", "")[:2]
        return {"rc": 0, "stdout": f"\x1b]0;gpu01\x07\n{marker}\n{state}\n\n{marker}\n{beat}\n{marker}\n"}

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        assert words == (
            "muster.train.run_info",
            {"workdir": "/w", "run_id": "run1", "node": "node0", "docker": ["sudo", "docker"]},
        )
        self.asked.append(self.seconds)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the user sees, warnings too."""
    lines: list[str] = []
    display = MagicMock()
    display.display = display.warning = lines.append
    monkeypatch.setattr(follow, "display", display)
    return lines


Make = Callable[..., Fake]


@pytest.fixture
def make(printed: list[str]) -> Make:
    def made(*parts: Iterator[Read] | list[Read], answers: Sequence[Any] = (), **args: Any) -> Fake:
        return Fake(chain.from_iterable(parts), answers, **args)

    return made


def outcome(action: Fake) -> dict[str, Any]:
    result: dict[str, Any] = action.run(task_vars={})
    assert result.pop("changed") is False
    return result


def ended(phase: str) -> dict[str, Any]:
    return {"ended": True, "phase": phase, "interrupted": False}


def test_a_run_that_ends(make: Make, printed: list[str]) -> None:
    last = reads("succeeded", {"count": 3, "elapsed_s": 7, "progress": {"step": 4, "total_steps": 4}})
    action = make([reads("running", {"count": 1}), last])
    assert outcome(action) == ended("succeeded")
    commands = list(map(shlex.split, action.read))
    assert [words[5:] for words in commands] == [[f"{RUN_DIR}/state.json", f"{RUN_DIR}/heartbeat.json"]] * 2
    assert len({words[4] for words in commands}) == 2, "a marker is new for each read"
    assert action.asked == []
    assert printed[-1] == "succeeded  step 4/4  0:07 elapsed"


def test_the_end_is_not_waited_for_a_whole_second(make: Make) -> None:
    """Once a second, oftener from three seconds before the end that the steps promise, and until it is there."""
    steps = [(seconds, min(seconds, 6)) for seconds in range(9)]
    texts = [
        reads("running", {"count": at, "elapsed_s": at, "progress": {"step": step, "total_steps": 6}})
        for at, step in steps
    ]
    action = make(texts, [reads("succeeded", {"count": 9})])
    assert outcome(action) == ended("succeeded")
    assert action.pauses == [1.0] * 4 + [0.1] * 5


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
    action = make([reads("running", {"count": 1})], repeat(AWAY))
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert str(caught.value) == "the head has not been reachable for 60 s (no route to host); the run continues"
    # The first failure is at second 1. Nobody was asked: a connection that is lost says nothing of the runner.
    assert action.seconds == 62
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
        # Not more often than every five seconds.
        "running  step 3/9  0:41 elapsed",
        "succeeded, no metrics reported  0:46 elapsed",
    ]


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


def test_a_head_that_told_no_run_dir(make: Make) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        make(run_dir="").run(task_vars={})
    assert str(caught.value) == (
        "the head node0 does not answer or does not have run run1: `status` shows the other nodes"
    )


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


@pytest.mark.parametrize("until", ["running", "ended"])
def test_nothing_readable_is_not_waited_for_for_ever(make: Make, until: str) -> None:
    action = make(repeat(TALK), answers=[{"failed": True, "msg": "no python"}] * 9, until=until)
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert str(caught.value) == (
        f"node0: the state of the run could not be read for 120 s, neither as a file {OBSERVED} nor by a module "
        "(no python); the run continues"
    )


def test_a_start_whose_reason_is_not_known(make: Make) -> None:
    """A reason is never None."""
    over = {"run": {"alive": False, "phase": "failed"}}
    assert outcome(make(repeat(TALK), answers=[over], until="running")) == {
        "failed": True,
        "msg": "the run failed before it started; a runner that came late ends within a minute",
    }


@pytest.mark.parametrize(
    "run", [{"alive": True, "phase": "x"}, {"alive": True, "phase": "running", "elapsed_s": 1e999}]
)
def test_a_node_that_lies_is_not_waited_for_for_ever(make: Make, run: dict[str, Any]) -> None:
    action = make(repeat(TALK), answers=[{"run": run}] * 9)
    with pytest.raises(AnsibleActionFail) as caught:
        action.run(task_vars={})
    assert "nor by a module (its answer has no state of the run); the run continues" in str(caught.value)
