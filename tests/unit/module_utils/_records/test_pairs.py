# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head writes of a search among pairs, which may be damaged."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import (
    Culprit,
    Deviation,
    PairSample,
    PairSearch,
    read_search,
)

SAMPLES = [
    PairSample(1, 0, 1, 0, "measured", 1e-5, 4e9, 0.001, 1448),
    PairSample(2, 0, 2, 0, "unreachable", why="10.0.0.3 port 2: timed out", towards=2),
]
CULPRIT = Culprit("node", [2], None, [Deviation("reach", 0.0, 1.0)], 3, "no result after 30 s")


def written(**changes: Any) -> dict[str, Any]:
    known = {
        "nodes": 3,
        "rounds": 2,
        "samples": [sample.to_list() for sample in SAMPLES],
        "reason": "",
        "torch": "2.13",
    }
    document: dict[str, Any] = json.loads(
        json.dumps({**known, "culprits": [dataclasses.asdict(CULPRIT)], "library": None, **changes})
    )
    return document


def test_what_is_written_is_read() -> None:
    assert read_search(written()) == PairSearch(3, 2, SAMPLES, [CULPRIT], "", "2.13", None)


@pytest.mark.parametrize("data", [None, [], {}, {"nodes": 3}, written(nodes="3"), written(samples={})])
def test_what_is_no_search(data: object) -> None:
    assert read_search(data) is None


ROW = SAMPLES[0].to_list()


@pytest.mark.parametrize(
    "row",
    [
        *(None, {}, ROW[:9], ["1", *ROW[1:]], [*ROW[:4], "fine", *ROW[5:]]),
        *([1, *pair, *ROW[3:]] for pair in ((0, 7), (7, 0), (-1, 1), (1, 0), (1, 1))),
    ],
)
def test_a_row_that_is_no_sample_is_left_out(row: object) -> None:
    read = read_search(written(samples=[row, ROW]))
    assert read is not None and read.samples == [SAMPLES[0]]


def test_numbers_that_are_none() -> None:
    read = read_search(written(samples=[[*ROW[:5], float("nan"), -1.0, "2", None, 5, 7]]))
    assert read is not None and read.samples == [PairSample(1, 0, 1, 0, "measured")]


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "switch"},
        {"nodes": [3]},
        {"nodes": []},
        {"nodes": [0, 1]},
        {"kind": "link"},
        {"kind": "rail", "nodes": []},
        {"deviations": []},
        {"deviations": [{"metric": "mood"}]},
    ],
)
def test_a_culprit_that_is_none_is_left_out(changes: dict[str, Any]) -> None:
    read = read_search(written(culprits=[{**dataclasses.asdict(CULPRIT), **changes}]))
    assert read is not None and read.culprits == []


def test_a_rail_of_all_nodes() -> None:
    rail = dataclasses.replace(CULPRIT, kind="rail", nodes=[], rail=5)
    read = read_search(written(culprits=[dataclasses.asdict(rail)]))
    assert read is not None and read.culprits == [rail]


@pytest.mark.parametrize(
    ("changes", "groups", "is_bad"),
    [
        ({"culprits": []}, [], False),
        ({}, [], True),
        ({"culprits": [], "groups": [[0, 1], [2]]}, [[0, 1], [2]], True),
        ({"culprits": [], "groups": [[0, 3], [], None]}, [], False),
        ({"culprits": [], "unnamed": 1}, [], True),
        ({"culprits": [], "unmeasured": 1}, [], True),
        ({"culprits": [], "unmeasured": -1, "unnamed": "2", "groups": 5}, [], False),
    ],
)
def test_what_is_not_known_to_be_well(changes: dict[str, Any], groups: list[list[int]], is_bad: bool) -> None:
    read = read_search(written(**changes))
    assert read is not None and (read.groups, read.is_bad) == (groups, is_bad)
