# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failures the callback `brief` prints: all, except those that another task of the collection reports."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from ansible_collections.muster.train.plugins.callback.brief import CallbackModule

OURS, COMMAND = "muster.train.run_plan", "ansible.builtin.command"


class Recorder(CallbackModule):
    """The callback with a list instead of a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def _print(self, line: str, *args: Any, **kwargs: Any) -> None:
        self.lines.append(line)


def failure(action: str, ignored: bool = False, run_once: bool = False, **result: Any) -> list[str]:
    """Return what is printed when a task fails on n1."""
    task = Mock(_uuid="1", action=action, args={}, loop=None, run_once=run_once)
    task.get_name.return_value = "muster.train.launch : Plan the run"
    host = Mock(**{"get_name.return_value": "n1"})
    callback = Recorder()
    event = Mock(task=task, host=host, result={"msg": "no space", **result})
    callback.v2_runner_on_failed(event, ignore_errors=ignored)
    return callback.lines


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ({"action": OURS}, "failed: n1: no space"),
        ({"action": OURS, "run_once": True}, "error: no space"),
        ({"action": COMMAND}, "failed: n1: launch: Plan the run: no space"),
        (
            {"action": COMMAND, "ignored": True},
            "failed (ignored): n1: launch: Plan the run: no space",
        ),
    ],
)
def test_a_failure_is_printed(task: dict[str, Any], line: str) -> None:
    assert failure(**task) == [line]


@pytest.mark.parametrize(
    "task",
    [
        {"action": OURS, "ignored": True},
        {"action": OURS, "reported": True},
        {"action": "muster.train.run_start"},
    ],
)
def test_a_failure_that_another_task_reports_is_not_printed_twice(task: dict[str, Any]) -> None:
    assert failure(**task) == []
