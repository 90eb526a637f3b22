# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch in the queue for a slot: on which node it waits, for how long, and how that ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of, utc
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import PRESSED, Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import wait
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import HostSession, Play
from ansible_collections.muster.train.tests.support.verbs import play_of

CREATED = "2026-11-20T14:30:52Z"
HELD = {"admitted": False, "holder": {"run_id": "run0", "since": CREATED}, "ahead": []}
COME = {**HELD, "admitted": True}
PLACE = {"launch_workdir": "/work", "launch_slot": "gpu"}
TICKET = {"workdir": "/work", "node": "n1", "slot": "gpu", "run_id": "run1", "nonce": "1" * 32, "created": CREATED}
SILENT = {"unreachable": True, "msg": "away"}


def play(
    seconds: int = 600, n0: Mapping[str, Any] | None = None, n1: Mapping[str, Any] | None = None, **turn: Any
) -> Play:
    """A launch that waits on n1, or has; turn is how."""
    shared: dict[str, Any] = {"launch__waiting": {"node": "n1"}, **({"launch__turn": turn} if turn else {})}
    hosts = {"n0": {"launch__queue": n0 or COME, **shared}, "n1": {"launch__queue": n1 or HELD, **shared, **PLACE}}
    return play_of("launch", hosts, {"wait": seconds}, run_id="run1", nonce="1" * 32, created=CREATED)


class Waiting:
    """A wait on n1, whose answers, and the clock between them, the test gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = seconds_of(CREATED) or 0.0
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.lines: list[str] = []
        self.interrupt = Interrupt()
        monkeypatch.setattr(screen, "print_line", lambda text, *_args, **_options: self.lines.append(text))
        monkeypatch.setattr(wait, "time", SimpleNamespace(time=lambda: self.now))

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, answers: Iterable[Mapping[str, Any]], seconds: int = 600) -> dict[str, Any]:
        coming = iter(answers)

        def run_module(module: str, options: Mapping[str, Any]) -> dict[str, Any]:
            self.asked.append((module, options))
            return dict(next(coming))

        session = HostSession(run_module=run_module)
        waiting = dataclasses.replace(play(seconds), host=session, interrupt=self.interrupt, pause=self._sleep)
        return dict(wait.await_turn.conclusion(waiting).result)


LEFT = play(ended="interrupted")


def checks(**turn: Any) -> list[tuple[str | None, str]]:
    """The nodes and the checks of why nothing is started."""
    failure = wait.refuse.conclusion(play(60, **turn)).failure
    assert isinstance(failure, PlanError)
    return [(finding.node, finding.check) for finding in failure.findings]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(monkeypatch)


def test_every_node_is_asked_for_its_own_queue_and_left_there() -> None:
    on_n1 = dataclasses.replace(
        play(), read_policy=lambda names: {name: PLACE[name] for name in names if name in PLACE}
    )
    assert wait.queue.options(on_n1, "n1") == TICKET
    assert wait.leave.options(on_n1, "n1") == {**TICKET, "leave": True}
    assert all(step.module == "run_queue" and step.limit_s for step in (wait.queue, wait.leave))


@pytest.mark.parametrize(
    ("n0", "n1", "node"),
    [(HELD, HELD, "n0"), (COME, HELD, "n1"), (COME, COME, None), (SILENT, HELD, "n1"), (SILENT, SILENT, None)],
)
def test_it_waits_on_the_first_node_that_answers_and_where_the_turn_has_not_come(
    n0: dict[str, Any], n1: dict[str, Any], node: str | None
) -> None:
    assert wait.choose_node.conclusion(play(600, n0, n1)).result == {"node": node, "rounds": 5 + 2 + 9}


def test_it_returns_when_the_turn_has_come(waiting: Waiting) -> None:
    assert waiting.run([HELD, SILENT, COME])["ended"] is None
    assert waiting.asked == [("run_queue", TICKET)] * 3
    assert "run0" in waiting.lines[0]


def test_after_a_round_all_nodes_are_asked_again(waiting: Waiting) -> None:
    assert waiting.run(repeat(HELD))["ended"] is None
    assert utc(waiting.now) == "2026-11-20T14:32:52Z"


def test_the_wait_ends_when_its_time_since_the_command_is_over(waiting: Waiting) -> None:
    waiting.now += 50
    ended = waiting.run(repeat(HELD), seconds=60)
    assert ended == {"ended": "time", "answer": HELD}
    assert utc(waiting.now) == "2026-11-20T14:31:52Z"
    assert checks(**ended) == [("n1", "slot")]


def test_the_wait_fails_when_all_rounds_are_over() -> None:
    assert checks(ended=None, answer=None) == [("n1", "slot")]


def test_ctrl_c_counts_even_if_the_turn_has_just_come(waiting: Waiting) -> None:
    def press() -> Iterator[dict[str, Any]]:
        waiting.interrupt._flags[PRESSED] = True
        yield COME

    assert waiting.run(press())["ended"] == "interrupted"


def test_who_left_the_queue_is_told_that_nothing_was_started() -> None:
    assert str(wait.refuse.conclusion(LEFT).failure).startswith("run1 ")
