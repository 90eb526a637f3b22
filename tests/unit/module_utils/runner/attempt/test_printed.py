# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rank printed of its reason: far above its end, and not what it has survived."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.printed import MOST_WARNINGS, Printed

TRACEBACK = [b"Traceback (most recent call last):", b'  File "train.py", line 5, in <module>', b"ValueError: no label"]
FOOTER = [b"tracker: run 7 " + bytes([65 + number % 26]) for number in range(500)]
LATER = (None, "ValueError")


def steps(*numbers: int) -> list[tuple[list[bytes], int | None]]:
    return [([b"step %d" % number], number) for number in numbers]


@pytest.mark.parametrize(
    ("blocks", "exception"),
    [
        pytest.param([(TRACEBACK, 5), (FOOTER, 5)], "ValueError", id="a footer"),
        pytest.param([(TRACEBACK, 5), *steps(5)], "ValueError", id="the same step again"),
        pytest.param([(TRACEBACK, 5), *steps(6, 7, 8)], None, id="a training that goes on"),
        pytest.param([*steps(1, 2, 3), (TRACEBACK, 3)], "ValueError", id="steps before it"),
        pytest.param([*steps(98, 99), (TRACEBACK, 99), *steps(0, 1, 2)], None, id="steps of each epoch"),
        pytest.param([(TRACEBACK, 5), *steps(9, 7)], "ValueError", id="steps of a summary"),
        pytest.param([(TRACEBACK[:2], None), (TRACEBACK[2:], None)], "ValueError", id="in two reads"),
        pytest.param([([b"Exception ignored in: <f>"], None), (TRACEBACK, None)], "ValueError", id="only an aside"),
        pytest.param(
            [(TRACEBACK, None), ([b"Exception ignored in: <f>", *TRACEBACK[:2], b"TypeError: late"], None)],
            "ValueError",
            id="an aside after it",
        ),
        pytest.param([(FOOTER, None)], None, id="nothing"),
    ],
)
def test_exceptions(blocks: list[tuple[list[bytes], int | None]], exception: str | None) -> None:
    printed = Printed()
    for number, (lines, step) in enumerate(blocks):
        printed.take(lines, float(number), step)
    raised = printed.raised
    assert (raised.exception if raised else None) == exception


def test_warnings_of_nccl() -> None:
    printed = Printed()
    for number in range(100):
        printed.take([b"n1:1:2 [0] a.cc:1 NCCL WARN error %d" % number], 0.0, None)
    assert printed.warnings == [f"error {number}" for number in range(MOST_WARNINGS)]
    for _block, step in steps(1, 2):
        printed.take([b"step"], 0.0, step)
    assert printed.warnings == []
