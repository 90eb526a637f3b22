# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a sweep in every case that its tests have: tests/screens/messages/sweep.txt."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep import difference_text, record
from ansible_collections.muster.train.plugins.plugin_utils._sweep.outcome import first_error
from ansible_collections.muster.train.tests.support.screens import errors, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._sweep import (
    test_course,
    test_difference,
    test_record,
    test_search,
    test_text,
)


def test_what_is_said_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the other files, Python and PyYAML say what is wrong, each version in other words.
    refused = ("files of no sweep", errors(record.load, test_record.NO_SWEEPS[:2]))
    missing = ("no Optuna", [test_search.missing_optuna(monkeypatch, search) for search in ("tpe", "grid")])
    differences = [
        ("two sweeps", difference_text.lines(test_difference.WHOLE, 100)),
        ("two sweeps without repeats", difference_text.lines(test_difference.SINGLE, 100)),
        ("two sweeps with equal repeats", difference_text.lines(test_difference.EQUAL, 100)),
        ("two sweeps with one group of repeats", difference_text.lines(test_difference.ONE_GROUP, 100)),
    ]
    others = [("a launch without a reason", [first_error({})]), missing, *test_course.LINES.items()]
    text = page_of([*test_text.LINES.items(), refused, *others, *differences])
    assert text == kept("messages/sweep.txt", text)
