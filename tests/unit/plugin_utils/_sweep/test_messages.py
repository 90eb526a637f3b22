# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a sweep in every case that its tests have: tests/screens/messages/sweep.txt."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.plugins.plugin_utils._sweep.outcome import first_error
from ansible_collections.muster.train.tests.support.screens import errors, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._sweep import test_record, test_text


def test_what_is_said_of_a_sweep() -> None:
    # Of the other files, Python and PyYAML say what is wrong, each version in other words.
    refused = ("files of no sweep", errors(record.load, test_record.NO_SWEEPS[:2]))
    text = page_of([*test_text.LINES.items(), refused, ("a launch without a reason", [first_error({})])])
    assert text == kept("messages/sweep.txt", text)
