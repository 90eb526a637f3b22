# SPDX-License-Identifier: GPL-3.0-or-later
"""When a follow and the wait for a start end, when they ask the module, and when they give up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import Hang
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import hangs
from ansible_collections.muster.train.plugins.plugin_utils._verbs import follow
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclude, Conclusion
from ansible_collections.muster.train.tests.support.following import (
    ALIVE,
    AWAY,
    RUN_DIR,
    Head,
    Read,
    Unframed,
    beating,
    reads,
)
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of

TALK = Unframed('\x1b]0;gpu01\x07{"phase": "failed"}\n')
NO_PYTHON = {"failed": True, "msg": "no\npython"}
STILL = reads("running", {"count": 7})
BEGUN = "2026-11-20T14:30:52Z"


def gone(phase: str, **more: Any) -> dict[str, Any]:
    """The answer of the module where the runner is dead."""
    return {"run": {"alive": False, "phase": phase, **more}}


def ended(phase: str | None) -> dict[str, Any]:
    return {"ended": phase not in (None, "running"), "phase": phase}


@pytest.mark.parametrize(
    ("looks", "answers", "phase", "asked"),
    [
        # A runner that is silent and lives is asked for after another silence only.
        ([*[STILL] * 50, reads("failed", {"count": 7})], [ALIVE] * 2, "failed", [21, 42]),
        (repeat(STILL), [ALIVE, gone("lost")], "lost", [21, 42]),
        ([*islice(beating(), 100), reads("stopped", {})], [], "stopped", []),
        (repeat("[]"), [gone("not_found")], "not_found", [21]),
        (repeat(TALK), [ALIVE, ALIVE, gone("succeeded")], "succeeded", [21, 42, 63]),
        # Twice 55 seconds: each success begins anew, and a counter that moved meanwhile was no silence.
        (
            chain(
                *([reads("running", {"count": at}), *[AWAY] * 55] for at in (1, 56)),
                [reads("succeeded", {"count": 112})],
            ),
            [],
            "succeeded",
            [],
        ),
    ],
)
def test_the_end(looks: Iterable[Read], answers: Sequence[Any], phase: str, asked: list[int]) -> None:
    head = Head(looks, answers)
    assert head.conclude(follow.watch).result == ended(phase)
    assert head.asked == asked


def hanging(count: int, hang: object) -> str:
    return f"{json.dumps({'phase': 'running', 'hang': hang})}\n{json.dumps({'count': count})}\n"


def test_a_hang_is_said_once_and_taken_back() -> None:
    hang = {"collective": {"group": "default_pg", "op": "all_reduce", "seq": 7}, "waiting": [0], "absent": [1]}
    looks = [reads("running", {"count": 1}), hanging(2, hang), hanging(3, hang), hanging(4, None), hanging(5, hang)]
    head = Head([*looks, reads("stopped", {})])
    head.conclude(follow.watch)
    news = [line for line in head.printed if "#7" in line or "again" in line]
    assert [("#7" in line, "rank 1 has" in line) for line in news] == [(True, True), (False, False), (True, True)]


def test_of_a_run_that_was_seen_to_work_nothing_is_taken_back() -> None:
    hang = {"positions": [{"ranks": [0], "activity": "computes"}], "is_moving": True}
    head = Head([reads("running", {"count": 1}), hanging(2, hang), hanging(3, None), reads("stopped", {})])
    head.conclude(follow.watch)
    assert [line for line in head.printed if "computing" in line or "again" in line] == [
        hangs.text_of(Hang.from_dict(hang))
    ]


def test_each_read_has_a_marker_of_its_own() -> None:
    head = Head([reads("running", {"count": 1}), reads("succeeded", {"count": 2})])
    conclusion = head.conclude(follow.watch)
    assert (conclusion.result, conclusion.document) == (ended("succeeded"), {"run_id": "run1"})
    assert [words[-2:] for words in head.read] == [[f"{RUN_DIR}/state.json", f"{RUN_DIR}/heartbeat.json"]] * 2
    assert len({words[0] for words in head.read}) == 2
    assert head.built == ["run_info"]


@pytest.mark.parametrize(
    ("looks", "pauses"),
    [
        # At first by a tenth of the run's age, and ten times a second from three seconds before the end on.
        (
            [
                reads("running", {"count": at, "elapsed_s": at, "progress": {"step": min(at, 6), "total_steps": 6}})
                for at in range(9)
            ],
            [0.1, 0.1, 0.2, 0.3] + [0.1] * 5,
        ),
        (
            [reads("running", {"count": at, "elapsed_s": elapsed}) for at, elapsed in enumerate([5, 9, 10, 5000])],
            [0.5, 0.9, 1.0, 1.0],
        ),
    ],
)
def test_the_end_is_not_waited_for_a_whole_second(looks: list[Read], pauses: list[float]) -> None:
    head = Head([*looks, reads("succeeded", {"count": 9})])
    assert head.conclude(follow.watch).result == ended("succeeded")
    assert head.pauses == pytest.approx(pauses)


def asked_in_vain(answer: dict[str, Any]) -> list[str]:
    """What is printed where the heartbeat has stopped, and the module gives this answer."""
    head = Head([*[STILL] * 30, reads("failed", {"count": 7})], [answer])
    assert head.conclude(follow.watch).result == ended("failed")
    assert head.asked == [21]
    return head.printed


@pytest.mark.parametrize("answer", [NO_PYTHON, {"msg": "no python"}, {"unreachable": True, "msg": "no python"}])
def test_an_answer_that_says_nothing_does_not_end_it(answer: dict[str, Any]) -> None:
    assert [line.split()[0] for line in asked_in_vain(answer)] == ["running", "node0:", "failed"]


def test_a_connection_that_hangs_is_tried_again() -> None:
    head = Head([AWAY, reads("succeeded", {"count": 1})], read_takes=100)
    assert head.conclude(follow.watch).result == ended("succeeded")


# A start that cannot be read has not failed: that would stop the nodes of a run that may be healthy.
UNREADABLE: list[tuple[list[Read], list[dict[str, Any]], int]] = [
    # No node is asked: a connection that is lost says nothing of the runner.
    ([AWAY], [], 61),
    ([TALK], [NO_PYTHON], 126),
    # A node that lies is not waited for endlessly.
    ([TALK], [{"run": {"alive": True, "phase": "x"}}], 126),
    ([TALK], [{"run": {**ALIVE["run"], "elapsed_s": 1e999}}], 126),
]


def unreadable(looks: list[Read], answers: list[dict[str, Any]]) -> tuple[str, float]:
    """Why a follow ends, and after how many seconds."""
    head = Head(looks * 200, answers * 9)
    with pytest.raises(UserError) as caught:
        head.conclude(follow.watch)
    return str(caught.value), head.seconds


def unknown_start(looks: list[Read], answers: list[dict[str, Any]]) -> Conclusion:
    return Head(looks * 200, answers * 9, verb="launch").conclude(follow.await_start)


@pytest.mark.parametrize(("looks", "answers", "seconds"), UNREADABLE)
def test_what_cannot_be_read_for_long(looks: list[Read], answers: list[dict[str, Any]], seconds: int) -> None:
    assert unreadable(looks, answers)[1] == seconds
    started = unknown_start(looks, answers)
    why = started.result["why"]
    assert why and (started.failure, started.result) == (None, {**ended(None), "why": why})


@pytest.mark.parametrize(
    ("run", "result"),
    [
        ({"alive": True, "phase": "running", "started": BEGUN, "gang": {"nodes": 2}}, ended("running")),
        # It began, and succeeded, while nothing could be read.
        ({"alive": False, "phase": "succeeded", "started": BEGUN}, ended("succeeded")),
    ],
)
def test_a_start_that_only_the_module_can_read(run: dict[str, Any], result: dict[str, Any]) -> None:
    assert Head(repeat(TALK), [{"run": run}], verb="launch").conclude(follow.await_start).result == result


# The head's own reason does not say whose it is.
FAILED_STARTS: list[dict[str, Any]] = [
    gone("failed"),
    gone("failed", why="cannot start train"),
    gone("stopped", why="node1: cannot start train"),
    gone("lost"),
    gone("not_found"),
]


def failed_start(answer: dict[str, Any]) -> Conclusion:
    return Head(repeat(TALK), [answer], verb="launch").conclude(follow.await_start)


@pytest.mark.parametrize("answer", FAILED_STARTS)
def test_a_start_that_failed(answer: dict[str, Any]) -> None:
    conclusion = failed_start(answer)
    assert str(answer["run"].get("why", "")) in str(conclusion.failure)
    assert conclusion.is_shown


def test_a_long_start_shows_what_it_waits_for() -> None:
    head = Head([*[reads("waiting", {"count": at}) for at in range(9)], reads("failed", {})], verb="launch")
    head.conclude(follow.await_start)
    assert [line.split()[0] for line in head.printed] == ["waiting"]


def test_a_launch_that_is_not_followed_fails_where_it_is_not_known_whether_it_has_started() -> None:
    joined = {"launch__joined": {"phase": None, "why": "unknown"}}
    head = Head([reads("succeeded", {})], verb="launch", known=joined, follow=False)
    with pytest.raises(UserError, match=r"^run1: unknown$"):
        head.conclude(follow.watch)
    assert head.read == []
    # One that is followed shows it by itself.
    assert Head([reads("succeeded", {})], verb="launch", known=joined).conclude(follow.watch).result["ended"]


KNOWN: dict[str, dict[str, Any]] = {
    "launch": {"launch__plan": {"plan": {"run_id": RUN_ID, "head": {"node": "node1"}}}},
    "follow": {"launch__run": {"run_id": RUN_ID, "head": "node1"}},
}


@pytest.mark.parametrize(
    ("verb", "step"), [("launch", follow.await_start), ("launch", follow.watch), ("follow", follow.watch)]
)
@pytest.mark.parametrize(
    "answer",
    [
        info("node1", "not_found")["launch__info"],
        info("node1", "running", run_dir=None)["launch__info"],
        {"unreachable": True, "msg": "no\x1b[2J route"},
        {"failed": True, "msg": "x"},
        {"failed": True, "timedout": {"period": 12}},
        None,
    ],
)
def test_a_head_without_the_run_is_named(verb: str, step: Conclude, answer: dict[str, Any] | None) -> None:
    """The head of a launch is that of its plan, and else the chosen one."""
    answers: dict[str, Any] = {"node0": info("node0", "running"), "node1": {"launch__info": answer}}
    hosts = {node: {**known, **KNOWN[verb]} for node, known in answers.items()}
    with pytest.raises(UserError) as caught:
        step.conclusion(play_of(verb, hosts, {"lines": 0, "follow": True}))
    lines = str(caught.value).splitlines()
    assert all("node1" in line and line.isprintable() for line in lines)
    assert "node0" not in str(caught.value)
    # Why a head did not answer comes before what a follow needs.
    assert len(lines) == (1 if answer and "run" in answer else 2)
