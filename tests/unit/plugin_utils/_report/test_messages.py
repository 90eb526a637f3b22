# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of a run says: tests/screens/messages/report.txt."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._report.metrics import read_rank
from ansible_collections.muster.train.plugins.plugin_utils._report.remarks import TEXTS, remark_text
from ansible_collections.muster.train.plugins.plugin_utils._report.run_text import lines
from ansible_collections.muster.train.plugins.plugin_utils._report.series import reduce
from ansible_collections.muster.train.tests.support.report_parts import line, rank_of, reported_run
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of

ODD = (
    [line(0, 1), line(0, 2, loss=math.nan), line(0, 3, step_ms=-3.6e6), line(0, 2)],
    [line(1, 4, loss=math.inf), line(1, 3), line(1, 5, step_ms=0.0), line(1, 4)],
)


def messages() -> Iterator[Message]:
    yield "a run", lines(reported_run())
    for count in (1, 2):
        damaged = [rank_of(rank, *known) for rank, known in enumerate(ODD[:count])]
        others = [read_rank(2 + number, text) for number in range(count) for text in ([], [b"{\n"])]
        remarks = reduce([*damaged, *others], 5 * count, {}, 0).remarks
        assert {remark.kind for remark in remarks} == {*TEXTS}
        yield f"metrics of {count} of each kind", [remark_text(remark) for remark in remarks]


def test_what_is_said_of_a_run() -> None:
    text = page_of(messages())
    assert text == kept("messages/report.txt", text)
