# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the conditions on runs."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.conditions import (
    Condition,
    Order,
    parse_conditions,
    parse_order,
    sort_key,
)
from ansible_collections.muster.train.tests.support.requests import RefusedRequest, make, refused

RUN = {
    "channels": 42,
    "loss": 1.93,
    "label": "Base",
    "created": "2026-11-20T14:30:52Z",
    "elapsed_s": 3700.0,
    "threads": None,
    "accelerate": True,
    "lr": "3e-4",
}


@pytest.mark.parametrize(
    "condition",
    [
        "channels=42",
        "channels=42.0",
        "channels!=41",
        "channels>=42",
        "channels<=42",
        "loss<2",
        "loss>-1",
        "label=Base",
        "label!=other",
        "label~as",
        "label~bAsE",
        "created>2026-11-20",
        "created<2026-11-21",
        "elapsed_s>1h",
        "elapsed_s<62m",
        "lr<0.001",
        "threads=",
        "other!=x",
        "accelerate=true",
        " channels = 42 ",
    ],
)
def test_a_condition_that_holds(condition: str) -> None:
    (parsed,) = parse_conditions(condition)
    assert parsed.holds(RUN)


@pytest.mark.parametrize(
    "condition",
    [
        "channels=4",
        "channels!=42",
        "channels<42",
        "channels>42",
        "channels<x",
        "label<5",
        "label=base",
        "threads=512",
        "threads<512",
        "threads>=0",
        "other=x",
        "label~x",
        "created>2026-11-21",
    ],
)
def test_a_condition_that_does_not_hold(condition: str) -> None:
    (parsed,) = parse_conditions(condition)
    assert not parsed.holds(RUN)


def test_commas_separate_conditions() -> None:
    assert parse_conditions("channels>=8, loss<=1e-2,label=") == [
        Condition("channels", ">=", "8"),
        Condition("loss", "<=", "1e-2"),
        Condition("label", "=", ""),
    ]


def test_an_order() -> None:
    assert [parse_order("loss"), parse_order("-created")] == [Order("loss", False), Order("created", True)]
    assert sorted(["10", "b", 9, "a", -1.5], key=sort_key) == [-1.5, 9, "10", "a", "b"]


CONDITIONS = ["channels", "=42", "channels=42,", "channels=42,,loss<3", "channels==x,5", "a b=1", ""]
ORDERS = ["--loss", "", "loss,created", "lo ss"]
CASES = [
    *(refused(f"the condition {text!r}", ("where", "extra_vars"), {"where": text}, verb="list") for text in CONDITIONS),
    *(refused(f"the order {text!r}", ("sort", "extra_vars"), {"sort": text}, verb="list") for text in ORDERS),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_another_text_is_refused(case: RefusedRequest) -> None:
    assert case.refusals() == case.outcomes


def test_they_reach_the_request_as_they_are() -> None:
    request = make({"where": "loss<3", "sort": "-loss", "last": "20", "output": "csv"}, verb="list")
    values = {name: setting["value"] for name, setting in request["parameters"].items()}
    assert values == {"run_id": None, "where": "loss<3", "sort": "-loss", "last": 20, "output": "csv"}
