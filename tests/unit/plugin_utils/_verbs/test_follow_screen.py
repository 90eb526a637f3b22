# SPDX-License-Identifier: GPL-3.0-or-later
"""What a follow prints, of garbage too, and what it says when it is interrupted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import repeat

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.progress import clock
from ansible_collections.muster.train.plugins.plugin_utils._verbs import follow
from ansible_collections.muster.train.tests.support.following import ALIVE, AWAY, Head, Read, Unframed, beating, reads

END = reads("succeeded", {"count": 2})
ODD_BEATS: list[object] = [[], 1, {"count": "x"}, {"count": None}, {"elapsed_s": "x"}, {"elapsed_s": 10**400}]
ELAPSED = re.compile(r"\d+:\d\d")
NO_STEP = [reads("running", {"count": number, "elapsed_s": number}) for number in range(1, 100)]


def followed(looks: Iterable[Read]) -> list[str]:
    """What is printed of a run that succeeds."""
    head = Head(looks)
    assert head.conclude(follow.watch).result == {"ended": True, "phase": "succeeded"}
    return head.printed


def times(lines: Iterable[str]) -> list[str]:
    """The times since the start of a run that lines show."""
    return [time[0] for line in lines if (time := ELAPSED.search(line))]


def with_log() -> Head:
    head = Head([reads("running", {"count": 1}), END], lines=2, log="cut\none\n\x1b[31mtwo\n")
    head.conclude(follow.watch)
    return head


def hidden() -> list[str]:
    """What is printed where only the module can read the run."""
    over = {"run": {"alive": False, "phase": "succeeded", "elapsed_s": 40}}
    head = Head(repeat(Unframed('\x1b]0;gpu01\x07{"phase": "failed"}\n')), [ALIVE, ALIVE, over])
    head.conclude(follow.watch)
    return head.printed


def interrupted(looks: Iterable[Read], phase: str | None) -> list[str]:
    head = Head(looks, interrupt_at=3)
    assert head.conclude(follow.watch).result == {"ended": False, "phase": phase}
    return head.printed[-3:]


@pytest.mark.parametrize(
    ("looks", "count"),
    [
        # Garbage is left out, and a heartbeat without a state is too.
        *(([text, END], 1) for text in ("", "[]", '{"count": 1}')),
        ([reads("running", {"count": 1, "elapsed_s": float("nan")}), END], 1),
        # A state is read whatever the heartbeat is.
        *(([reads("succeeded", beat)], 1) for beat in ODD_BEATS),
        (['{"phase": "waiting"}\n', END], 2),
    ],
)
def test_a_run_without_metrics(looks: list[Read], count: int) -> None:
    assert times(followed(looks)) == ["0:00"] * count


def test_elsewhere_than_on_a_terminal_only_what_changed_is_printed() -> None:
    steps = [1] * 20 + [2] * 20 + [3, 4, 5, 6, 7]
    looks = [
        reads("running", {"count": seconds, "elapsed_s": seconds, "progress": {"step": step, "total_steps": 9}})
        for seconds, step in enumerate(steps, 1)
    ]
    printed = followed([*looks, reads("succeeded", {"count": 99, "elapsed_s": 46})])
    # Not more often than every ten seconds.
    assert times(printed) == ["0:01", "0:21", "0:41", "0:46"]


def test_the_last_lines_of_the_log_are_shown_below() -> None:
    head = with_log()
    assert (len(head.printed), head.printed[1:3]) == (4, ["  | one", "  | two"])
    assert head.read[0][2:4] == ["node.log rank_00.log", "1536"]


def test_what_is_left_is_estimated_from_the_steps_of_this_attempt() -> None:
    def at(seconds: int, attempt: int, step: int) -> str:
        state = {"phase": "running", "attempt": attempt}
        beat = {"count": seconds, "elapsed_s": seconds, "progress": {"step": step, "total_steps": 200}}
        return f"{json.dumps(state)}\n{json.dumps(beat)}\n"

    slow = [at(second, 0, second // 2) for second in range(1, 200)]
    fast = [at(200 + n, 1, 99 + n) for n in range(1, 30)]
    line = followed([*slow, *fast, reads("succeeded", {"count": 999, "elapsed_s": 300})])[-2]
    left = 200 - int(line.partition("/")[0].split()[-1])
    assert line.split()[-1] == clock(left), "a step a second, and not one in two as before"


def test_a_run_that_says_nothing_for_long_is_mentioned_now_and_then() -> None:
    looks = [reads("running", {"count": at, "elapsed_s": at, "progress": {"step": 1}}) for at in range(1, 701)]
    assert times(followed([*looks, END])[:-1]) == ["0:01", "5:01", "10:01"]


def test_without_a_step_for_long_it_says_once_where_to_look() -> None:
    first, hint, end = followed([*NO_STEP, END])
    assert times([first, end]) == ["0:01", "0:00"]
    assert "muster.train.logs -e run_id=run1" in hint


@pytest.mark.parametrize("total", [float("inf"), 10**400])
def test_odd_progress_is_shown_as_far_as_it_goes(total: float) -> None:
    looks = [
        reads(phase, {"count": step, "elapsed_s": step, "progress": {"step": step, "total_steps": total}})
        for step, phase in enumerate(("running", "succeeded"))
    ]
    assert times(followed(looks)[-1:]) == ["0:01"]


def test_what_a_read_hides_a_module_tells() -> None:
    warning, *lines = hidden()
    assert warning.startswith("node0: ") and '{"phase": "failed"}' in warning
    assert times(lines) == ["0:00", "0:40"]


def test_lines_for_programs_have_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(follow, "print_document", lines.append)
    looks = [reads("running", {"count": at, "elapsed_s": at, "progress": {"step": at // 2}}) for at in range(4)]
    Head([*looks, END], output="jsonl").conclude(follow.watch)
    samples = [json.loads(line) for line in lines]
    assert [(line["phase"], line["progress"] and line["progress"]["step"]) for line in samples] == [
        ("running", 0.0),
        ("running", 1.0),
        ("succeeded", None),
    ]


@pytest.mark.parametrize(("looks", "phase"), [(beating(), "running"), (repeat(AWAY), None)])
def test_interrupted(looks: Iterable[Read], phase: str | None) -> None:
    _line, again, stop = interrupted(looks, phase)
    assert ["muster.train.follow" in again, "muster.train.stop" in stop] == [True, True]
