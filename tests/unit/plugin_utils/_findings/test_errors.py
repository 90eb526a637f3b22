# SPDX-License-Identifier: GPL-3.0-or-later
"""How a value and the message of a failed task are shown."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import display, task_message


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"msg": "Task failed: no space left"}, "no space left"),
        ({"msg": "a Task failed: inside"}, "a Task failed: inside"),
        ({"msg": 7}, "7"),
        ({"msg": ""}, "no reason"),
        ({}, "no reason"),
    ],
)
def test_the_message_of_a_task(result: dict[str, Any], message: str) -> None:
    assert task_message(result, "no reason") == message


def test_a_long_value_is_cut() -> None:
    assert display("x") == "'x'"
    assert display("x" * 100) == "'" + "x" * 59 + "…"
