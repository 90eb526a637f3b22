# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of a rank's last lines can explain how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.causes import Cause

TAIL = ("survived", "[rank0]: Traceback (most recent call last):", "ValueError: x", "after it")
WATCHDOG = ("survived", "terminate called after throwing an instance of 'c10::DistBackendError'", "  what():  y")


@pytest.mark.parametrize(
    ("known", "tail", "lines"),
    [
        ({"exit_code": 1, "exception": "ValueError"}, TAIL, TAIL[1:]),
        ({"exit_code": 1, "exception": "ValueError"}, [*TAIL[:2], *TAIL], TAIL[1:]),
        ({"exit_code": 1, "exception": "ValueError"}, ["survived", *TAIL[2:]], TAIL[2:]),
        ({"exit_code": 1, "exception": "ValueError"}, ["survived"], []),
        ({"signal": "SIGKILL"}, TAIL, []),
        ({"signal": "SIGABRT", "exception": "ValueError"}, TAIL, []),
        ({"signal": "SIGABRT"}, WATCHDOG, WATCHDOG[1:]),
        ({"exit_code": 1}, TAIL, TAIL),
        ({}, [], []),
    ],
)
def test_only_the_end_explains_an_exception_or_a_signal(
    known: dict[str, Any], tail: Sequence[str], lines: Sequence[str]
) -> None:
    assert list(Cause("n0", **known).telling(tail)) == list(lines)
