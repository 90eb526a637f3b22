# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failures the callback `brief` prints: all, except those that another task of the collection reports."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from ansible_collections.muster.train.plugins.callback.brief import CallbackModule, stage_of
from ansible_collections.muster.train.plugins.plugin_utils._screen.stages import STAGES

OURS, COMMAND = "muster.train.step", "ansible.builtin.command"


class Recorder(CallbackModule):
    """The callback with a list instead of a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def _print(self, line: str, *args: Any, **kwargs: Any) -> None:
        self.lines.append(line)


def failure(
    action: str, ignored: bool = False, run_once: bool = False, step: str = "launch.plan", **result: Any
) -> list[str]:
    """Return what is printed when a task fails on n1."""
    task = Mock(_uuid="1", action=action, args={"name": step}, loop=None, run_once=run_once)
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
        ({"action": "muster.train.run"}, "failed: n1: no space"),
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
        {"action": OURS, "step": "launch.start"},
    ],
)
def test_a_failure_that_another_task_reports_is_not_printed_twice(task: dict[str, Any]) -> None:
    assert failure(**task) == []


@pytest.mark.parametrize(
    ("step", "stage"),
    [
        ("launch.gather", "muster.train.node_facts"),
        ("stop.stop_rest", "muster.train.run_stop"),
        ("launch.withdraw", "launch.withdraw"),
    ],
)
def test_a_step_has_a_stage_of_its_own_or_that_of_its_module(step: str, stage: str) -> None:
    assert stage_of(Mock(action=OURS, args={"name": step})) is STAGES[stage]
