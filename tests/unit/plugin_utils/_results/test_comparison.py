# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the comparison of runs: what differs, by how much, and whether that is more than noise."""

from __future__ import annotations

import json
import math
from datetime import date

from ansible_collections.muster.train.plugins.plugin_utils._results import comparison_text
from ansible_collections.muster.train.plugins.plugin_utils._results.compared import PARTS, read_run
from ansible_collections.muster.train.plugins.plugin_utils._results.comparison import (
    Comparison,
    MetricDifference,
    compare,
)
from ansible_collections.muster.train.tests.support.compared_runs import compared, plan_of, record_of

A, AGAIN, B = compared("a", 8, 2.0), compared("a2", 8, 2.1, elapsed_s=40.2), compared("b", 42, 1.5, elapsed_s=30.0)
NUMBERS = [
    compared(name, 8, loss, metrics={"mfu": loss, "a/long/name": 24475.116 * loss})
    for name, loss in (("a", 0), ("b", 1))
]
MANY = [compared(f"r{number}", number, number / 3, script_args=None) for number in range(1, 12)]
# What a person reads of these: tests/screens/messages/results.txt.
CASES = {
    "two runs": [A, B],
    "with a repeat": [A, AGAIN, B],
    "a run that failed, without its plan": [
        A,
        compared("f", 8, 9.0, verdict="failed", code={"commit": "f" * 40}, plan=None),
    ],
    "a run and its repeat": [A, AGAIN],
    "numbers of a script": NUMBERS,
    "many runs": MANY,
    "repeats without a number in common": [
        compared("a", 8, 2.0, elapsed_s=None),
        compared("b", 8, math.nan, elapsed_s=9.0),
    ],
    "runs in which nothing differs": [A, A],
}


def differences(comparison: Comparison) -> dict[str, list[object]]:
    return {f"{item.part}.{item.name}": list(item.values) for item in comparison.differences}


def metric(comparison: Comparison, name: str) -> MetricDifference:
    [metric] = [item for item in comparison.metrics if item.name == name]
    return metric


def test_only_what_differs_is_there() -> None:
    comparison = compare([A, B])
    assert differences(comparison) == {"parameters.channels": [8, 42], "environment.A": ["8", "42"]}
    assert [item.name for item in comparison.metrics] == ["loss", "elapsed_s"]
    assert comparison.same == ["code", "versions", "nodes", "verdict", "step", "first_loss"]
    assert (comparison.runs, comparison.unknown, comparison.repeats) == (["a", "b"], [], [])


def test_what_names_a_run_and_its_port_is_no_difference() -> None:
    plans = [plan_of("a", "1" * 32), plan_of("b", "2" * 32, X="")]
    runs = [read_run(name, record_of(name, 8, 2.0), plan) for name, plan in zip("ab", plans, strict=True)]
    assert differences(compare(runs)) == {}
    labels = [compared(name, 8, 2.0, label=name, command=f"launch -e label={name}") for name in "ab"]
    assert differences(compare(labels)) == {}


def test_code_versions_and_nodes() -> None:
    other = compared(
        *("c", 8, 2.0),
        code={"path": "/code", "commit": "f" * 40, "dirty": False},
        versions={"muster": "0.2.0"},
        nodes=["node0", "node1", "node2"],
        replaced={"node1": "node2"},
        fabric="rdma",
    )
    values = differences(compare([A, other]))
    assert values == {
        "code.commit": ["0123456789abcdef", "f" * 40],
        "code.branch": ["main", None],
        "code.dirty": [True, False],
        "versions.muster": ["0.1.0", "0.2.0"],
        "nodes.nodes": ["node[0-1]", "node[0-2]"],
        "nodes.fabric": ["tcp", "rdma"],
        "nodes.replaced": [None, "node1 by node2"],
    }


def test_a_change_and_the_noise_of_repeats() -> None:
    comparison = compare([A, AGAIN, B])
    loss = metric(comparison, "loss")
    assert comparison.repeats == [["a", "a2"]]
    assert loss.changes_percent == [None, 5.0, -25.0]
    assert (loss.noise, loss.above_noise) == (0.1, [None, False, True])
    elapsed = metric(comparison, "elapsed_s")
    assert (elapsed.noise, elapsed.above_noise) == (1.0, [None, False, True]), "times are whole seconds"


def test_without_repeats_the_noise_is_not_known() -> None:
    loss = metric(compare([A, B]), "loss")
    assert (loss.changes_percent, loss.noise, loss.above_noise) == ([None, -25.0], None, [None, None])


def test_repeats_may_be_other_runs_and_the_largest_spread_counts() -> None:
    others = [AGAIN, compared("b2", 42, 2.2), compared("b3", 42, 1.8), compared("c", 16, 9.0)]
    comparison = compare([A, B], others)
    assert (comparison.runs, comparison.repeats) == (["a", "b"], [["a", "a2"], ["b", "b2", "b3"]])
    assert (metric(comparison, "loss").noise, metric(comparison, "loss").above_noise) == (0.7, [None, False])


def test_only_runs_that_succeeded_with_the_same_of_everything_are_repeats() -> None:
    failed = compared("f", 8, 9.0, verdict="failed")
    moved = compared("m", 8, 9.0, nodes=["node0", "node2"])
    changed = compared("n", 8, 9.0, code={"commit": "f" * 40})
    plain = compared("p", 8, 9.0, plan=plan_of("p", "1", A="8", NCCL_PROTO="LL128"))
    blank = [compared(name, 8, loss, parameters={}) for name, loss in (("x", 1.0), ("y", 2.0))]
    assert compare([A, failed, moved, changed, plain, *blank]).repeats == []
    verdict = metric(compare([A, failed]), "verdict")
    assert (verdict.values, verdict.changes_percent) == (["succeeded", "failed"], [None, None])


def test_runs_of_which_something_is_not_known_are_no_repeats() -> None:
    comparison = compare([compared(name, 8, loss, plan=None) for name, loss in (("a", 2.1), ("b", 2.2))])
    assert (differences(comparison), comparison.repeats) == ({}, [])
    assert metric(comparison, "loss").noise is None


def test_a_part_that_is_not_known_is_not_compared() -> None:
    blind = compared("b", 42, 1.5, plan=None, versions=None)
    comparison = compare([A, blind])
    assert list(differences(comparison)) == ["parameters.channels"]
    assert comparison.unknown == [("b", "environment"), ("b", "versions")]
    assert not {"environment", "versions"} & {*comparison.same}


def test_numbers_that_a_user_or_a_script_added() -> None:
    runs = [compared("a", 8, 2.0, accuracy=0.8, metrics={"mfu": 40}), compared("b", 8, 2.0, accuracy=0.9)]
    comparison = compare(runs)
    assert [(item.name, list(item.values)) for item in comparison.metrics] == [
        ("accuracy", [0.8, 0.9]),
        ("mfu", [40, None]),
    ]
    assert metric(comparison, "accuracy").changes_percent == [None, 12.5]
    assert metric(comparison, "mfu").changes_percent == [None, None]


def test_a_change_against_nothing_has_no_percent() -> None:
    runs = [compared("a", 8, 0.0), compared("b", 42, 1.0), compared("c", 42, math.nan)]
    loss = metric(compare([*runs, compared("d", 42, 1.5)]), "loss")
    assert (loss.changes_percent, loss.above_noise) == ([None, None, None, None], [None, True, None, True])


def test_records_of_any_kind_are_compared() -> None:
    odd = {"parameters": {"x": {"value": date(2026, 11, 20), "layer": "d"}}, "nodes": 7, "replaced": [1], "loss": None}
    plans: list[object] = [None, [], {"head": 7}, {"head": {"node": "a"}, "jobs": {"a": {"environment": 7}}}]
    plans.append(
        {"head": {"node": "a"}, "jobs": {"a": {"environment": [7, {"name": "A"}, {"name": "B", "value": None}]}}}
    )
    runs = [A, *(read_run("x", odd, plan) for plan in plans)]
    comparison = compare(runs)
    assert json.loads(json.dumps(comparison.to_dict()))["differences"]
    assert {part for _run_id, part in comparison.unknown} < {*PARTS}


def test_a_table_that_would_be_too_wide_is_several() -> None:
    lines = comparison_text.lines(compare([*NUMBERS, *MANY]), 30)
    tables = lines[: next(index for index, line in enumerate(lines) if line.startswith("changes"))]
    assert all(len(line) <= 30 for line in tables)
    assert len([line for line in tables if line.startswith("metrics ")]) == 2
