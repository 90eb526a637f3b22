# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of findings: one line each, whatever a host puts into them."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import (
    Finding,
    PlanError,
    Status,
    line,
    lines,
)

FINDING = Finding("python", "node1", "fail", "OBSERVED", "EXPECTED", "SOURCE", "REMEDY")


def test_a_finding_is_one_line() -> None:
    assert line(FINDING) == "node1: python: OBSERVED; expected EXPECTED (SOURCE); REMEDY"


def test_a_finding_of_no_node_is_the_clusters_and_needs_no_expectation() -> None:
    finding = dataclasses.replace(FINDING, node=None, expected="")
    assert line(finding) == "cluster: python: OBSERVED (SOURCE); REMEDY"


def test_text_from_a_host_stays_on_its_line_and_away_from_the_terminal() -> None:
    finding = dataclasses.replace(FINDING, observed="a\nnode2: ok\x1b[31m\u2028b")
    assert line(finding).startswith("node1: python: a node2: ok b; expected")


def test_what_is_the_same_on_several_nodes_is_one_line() -> None:
    other = dataclasses.replace(FINDING, node="node2", observed="OTHER")
    third = dataclasses.replace(FINDING, node="node3")
    assert lines([FINDING, other, third]) == [
        "node1 and node3: python: OBSERVED; expected EXPECTED (SOURCE); REMEDY",
        "node2: python: OTHER; expected EXPECTED (SOURCE); REMEDY",
    ]


@pytest.mark.parametrize(
    ("status", "stops"), [("pass", False), ("warn", False), ("skip", False), ("fail", True), ("error", True)]
)
def test_only_failures_and_what_could_not_be_seen_stop(status: Status, stops: bool) -> None:
    assert dataclasses.replace(FINDING, status=status).stops is stops


def test_an_error_of_the_plan_shows_all_findings() -> None:
    other = dataclasses.replace(FINDING, check="slot")
    error = PlanError(iter([FINDING, other]))
    assert error.findings == [FINDING, other]
    assert str(error).splitlines() == [line(FINDING), line(other)]
