# SPDX-License-Identifier: GPL-3.0-or-later
"""What has changed since the last acceptance."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.report import document as preflight_document
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.acceptance import Acceptance, Change
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.changes import changes_between
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import StageThreshold
from ansible_collections.muster.train.tests.support.accept_parts import SLOW, SOURCE, THRESHOLDS, acceptance, documents
from ansible_collections.muster.train.tests.support.pair_parts import outcome
from ansible_collections.muster.train.tests.support.preflight_parts import Facts, report


def changes(now: Acceptance, before: Acceptance | None = None) -> list[tuple[str, str, str | None, str | None]]:
    """Return what differs from an acceptance that passed, without the bandwidths that are the same."""
    known = changes_between(before or acceptance(), now)
    return [(item.stage, item.subject, item.before, item.now) for item in known if item.percent != 0.0]


def older_kernel(facts: Facts) -> None:
    facts["node"]["kernel"]["release"] = "5.4.0-1"


def slower(factor: float, **setup: Any) -> dict[str, Any]:
    """Return the document of a benchmark that reaches so much less."""
    document = documents()["all"]
    document["benchmark"].update(setup)
    for row in document["benchmark"]["sizes"]:
        row["busbw_gb_per_s"] *= factor
    return document


def test_the_same_again_is_no_change_but_the_bandwidths_are_compared() -> None:
    known = changes_between(acceptance(), acceptance())
    assert [(item.stage, item.percent) for item in known] == [("intra", 0.0), ("rails", 0.0), ("all", 0.0)]


def test_a_bandwidth_is_compared_at_the_same_size() -> None:
    [_intra, _rails, change] = changes_between(acceptance(), acceptance(documents(all=slower(0.8))))
    assert (change.stage, change.subject) == ("all", "busbw at 1 GiB")
    assert change.percent == pytest.approx(-20.0)


def test_another_benchmark_is_not_compared() -> None:
    known = changes_between(acceptance(), acceptance(documents(all=slower(1.0, nproc=4))))
    assert [item for item in known if item.stage == "all"] == [Change("all", "nproc", "8", "4")]


def test_what_is_slow_now_is_a_change() -> None:
    now = acceptance(documents(pairs={"pairs": outcome(SLOW).to_dict()}))
    assert changes(now) == [("pairs", "verdict", "pass", "fail"), ("pairs", "slow", None, "node1")]


def test_a_property_of_one_node_is_a_change_and_so_is_its_check() -> None:
    now = acceptance(documents(preflight=preflight_document(report("dgx_h100_ib", older_kernel))))
    known = {subject: (before, after) for stage, subject, before, after in changes(now) if stage == "preflight"}
    before, after = known["kernel"]
    assert before is not None and after == f"{before}, but node1: 5.4.0-1"
    assert known["check kernel"][0] == "pass" and known["check kernel"][1] != "pass"


def test_a_node_that_has_come_is_a_change() -> None:
    preflight = documents()["preflight"]
    preflight["nodes"]["node2"] = preflight["nodes"]["node0"]
    now = acceptance(documents(preflight=preflight))
    assert changes(now) == [("preflight", "nodes", None, "node2")]
    assert changes(acceptance(), before=now) == [("preflight", "nodes", "node2", None)]


def test_another_threshold_is_a_change() -> None:
    now = acceptance(thresholds={**THRESHOLDS, "all": StageThreshold(SOURCE, 350.0)})
    assert changes(now) == [("all", "expected", "at least 300.0 GB/s", "at least 350.0 GB/s")]


def test_a_stage_that_measured_nothing_is_one_change() -> None:
    assert changes(acceptance(documents(all={}))) == [("all", "verdict", "pass", "fail")]
