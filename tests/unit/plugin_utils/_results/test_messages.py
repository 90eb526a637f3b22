# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of runs that are compared: tests/screens/messages/comparison.txt."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._results import comparison_text
from ansible_collections.muster.train.plugins.plugin_utils._results.comparison import compare
from ansible_collections.muster.train.tests.support.compared_runs import compared
from ansible_collections.muster.train.tests.support.screens import kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._results.test_comparison import AGAIN, A, B

FAILED = compared("f", 8, 9.0, verdict="failed", code={"commit": "f" * 40}, plan=None)
NUMBERS = [
    compared(name, 8, loss, metrics={"mfu": loss, "a/long/name": 24475.116 * loss})
    for name, loss in (("a", 0), ("b", 1))
]
MANY = [compared(f"r{number}", number, number / 3, script_args=None) for number in range(1, 12)]
CASES = {
    "two runs": [A, B],
    "with a repeat": [A, AGAIN, B],
    "a run that failed, without its plan": [A, FAILED],
    "a run and its repeat": [A, AGAIN],
    "numbers of a script": NUMBERS,
    "many runs": MANY,
    "runs in which nothing differs": [A, A],
}


def test_what_is_said_of_a_comparison() -> None:
    text = page_of((name, comparison_text.lines(compare(runs), 100)) for name, runs in CASES.items())
    assert text == kept("messages/comparison.txt", text)


def test_a_table_that_would_be_too_wide_is_several() -> None:
    lines = comparison_text.lines(compare([*NUMBERS, *MANY]), 30)
    tables = lines[: next(index for index, line in enumerate(lines) if line.startswith("changes"))]
    assert all(len(line) <= 30 for line in tables)
    assert len([line for line in tables if line.startswith("metrics ")]) == 2
