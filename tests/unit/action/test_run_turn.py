# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_turn`: how long it waits on one node, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.muster.train.plugins.action import run_turn
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of, utc
from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of

CREATED = "2026-11-20T14:30:52Z"
HELD = {"has_come": False, "holder": {"run_id": "run0", "since": CREATED}, "ahead": []}
VARIABLES = {"launch_workdir": "/work", "launch_slot": "gpu"}


class Waiting:
    """The action on a node whose answers, and the clock between them, the test gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.now = seconds_of(CREATED) or 0.0
        self.asked: list[dict[str, Any]] = []
        self.lines: list[str] = []
        monkeypatch.setattr(screen, "print_line", lambda text, *_args, **_options: self.lines.append(text))

    def run(self, answers: Iterator[Any], wait: int = 600, **args: Any) -> dict[str, Any]:
        request: dict[str, Any] = {"run_id": "run1", "nonce": "1" * 32, "created": CREATED, "call": "ansible-playbook"}
        request["parameters"] = {"wait": {"value": wait}}
        given = {"node": "n1", "request": request, **args}
        task = MagicMock(args=given, async_val=0, check_mode=False)
        loader = DataLoader()
        action = run_turn.ActionModule(task, MagicMock(), MagicMock(), loader, Templar(loader), None)

        def execute(_name: str, asked: dict[str, Any], **_options: Any) -> Any:
            self.asked.append(asked)
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def pause(seconds: float) -> None:
            self.now += seconds

        for name, method in {"_execute_module": execute, "_clock": lambda: self.now, "_pause": pause}.items():
            self._patch.setattr(action, name, method)
        return result_of(action, {"hostvars": Hosts(n1=VARIABLES)})


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(monkeypatch)


def forever(answer: Any) -> Iterator[Any]:
    while True:
        yield answer


def test_it_returns_when_the_turn_has_come(waiting: Waiting) -> None:
    answers = iter([HELD, AnsibleConnectionFailure("away"), {**HELD, "has_come": True}])
    assert waiting.run(answers)["ended"] is None
    ticket = {"workdir": "/work", "node": "n1", "slot": "gpu", "run_id": "run1", "nonce": "1" * 32}
    assert waiting.asked == [{**ticket, "created": CREATED}] * 3
    assert waiting.lines[0].startswith("waiting on n1: slot gpu is held by run run0 since ")


def test_after_a_round_all_nodes_are_asked_again(waiting: Waiting) -> None:
    assert waiting.run(forever(HELD))["ended"] is None
    assert utc(waiting.now) == "2026-11-20T14:32:52Z"


def test_the_wait_ends_when_its_time_since_the_command_is_over(waiting: Waiting) -> None:
    waiting.now += 50
    ended = waiting.run(forever(HELD), wait=60)
    assert (ended["ended"], ended["answer"]) == ("time", HELD)
    assert utc(waiting.now) == "2026-11-20T14:31:52Z"
    failed = waiting.run(iter([]), wait=60, turn=ended)
    assert failed["msg"].startswith("n1: slot: slot gpu is held by run run0 since ")


def test_ctrl_c_counts_even_if_the_turn_has_just_come(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    def press() -> Iterator[Any]:
        run_turn.INTERRUPT._flags[1] = True
        yield {**HELD, "has_come": True}

    assert waiting.run(press())["ended"] == "interrupted"


def test_who_left_the_queue_is_told_that_nothing_was_started(waiting: Waiting) -> None:
    failed = waiting.run(iter([]), turn={"ended": "interrupted"})
    assert failed["msg"] == "run1 has left the queue; nothing was started"
