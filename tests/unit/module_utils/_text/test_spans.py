# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in one line, written and read."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._text.spans import read_spans, spans


@pytest.mark.parametrize(("text", "ranges"), [("0", [range(1)]), ("0-3,6", [range(4), range(6, 7)])])
def test_spans_are_read(text: str, ranges: list[range]) -> None:
    assert read_spans(text) == ranges
    assert spans(number for numbers in ranges for number in numbers).replace(" ", "") == text


@pytest.mark.parametrize("text", ["", ",", "0,", "3-1", "-1", "1-", "a", "1-2-3", "٣", "0 1"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        read_spans(text)
