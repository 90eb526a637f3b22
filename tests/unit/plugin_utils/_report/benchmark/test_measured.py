# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks wrote becomes rows; what is none of it is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.measured import Timing, read_measured

LINE = [2e-3, 1e-3, 3e-3, 1e-3, 4e-3, 0.0]
WRITTEN = {
    "groups": [[0, 1], [2, 3]],
    "torch": "2.13.0",
    "library": "2.28.3",
    "rows": [{"bytes": 8, "count": 2, "groups": [LINE, [*LINE[:5], 7.0]]}],
}


def read(**changes: Any) -> Any:
    return read_measured(json.dumps({**WRITTEN, **changes}))


def test_what_the_ranks_wrote() -> None:
    measured = read()
    assert measured.groups == [[0, 1], [2, 3]]
    [row] = measured.rows
    assert (row.size, row.count) == (8, 2)
    assert row.timings == [Timing(2e-3, 1e-3, 3e-3, 1e-3, 4e-3, 0), Timing(2e-3, 1e-3, 3e-3, 1e-3, 4e-3, 7)]


def test_results_that_were_not_checked() -> None:
    [row] = read(rows=[{"bytes": 8, "count": 2, "groups": [[*LINE[:5], -2.0]] * 2}]).rows
    assert [timing.wrong for timing in row.timings] == [None, None]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"bytes": 0, "count": 2, "groups": [LINE, LINE]},
        {"bytes": 8, "count": 2, "groups": [LINE]},
        {"bytes": 8, "count": 2, "groups": [LINE, LINE[:5]]},
        {"bytes": 8, "count": 2, "groups": [LINE, [-1.0, *LINE[1:]]]},
        {"bytes": 8, "count": 2, "groups": [LINE, [float("nan"), *LINE[1:]]]},
        {"bytes": "8", "count": 2, "groups": [LINE, LINE]},
    ],
)
def test_a_row_that_is_none(row: dict[str, Any]) -> None:
    assert read(rows=[row]).rows == []


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"groups": [], "rows": []}', '{"groups": [[]], "rows": []}'])
def test_a_file_of_something_else(text: str | None) -> None:
    assert read_measured(text) is None
