# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts of the stages of an acceptance, by the documents of their commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.report import document as preflight_document
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.acceptance import last_of, read_acceptance
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.outcome import StageOutcome, judge
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import StageThreshold
from ansible_collections.muster.train.tests.support.accept_parts import SLOW, SOURCE, acceptance, documents, refused
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Facts, report


def verdicts(**changes: dict[str, Any]) -> dict[str, str]:
    """Return the verdict of each stage and that on the cluster."""
    known = acceptance(documents(**changes))
    return {stage.name: stage.verdict for stage in known.stages} | {"cluster": known.verdict}


PASSED = dict.fromkeys(("preflight", "intra", "rails", "all", "pairs", "cluster"), "pass")


def late(facts: Facts) -> None:
    facts["node"]["clock"]["wall"] = NOW - 60


def unreadable(facts: Facts) -> None:
    facts["node"]["clock"] = None


def test_a_cluster_whose_stages_all_pass_is_accepted() -> None:
    assert verdicts() == PASSED


@pytest.mark.parametrize(
    ("stage", "document", "verdict"),
    [
        ("preflight", preflight_document(report("dgx_h100_ib", late)), "fail"),
        ("preflight", {"code": None, "errors": []}, "unknown"),
        ("preflight", {**preflight_document(report("dgx_h100_ib")), "results": [], "off": ["disks"]}, "unknown"),
        ("intra", {"benchmark": benchmark(wrong=3).to_dict()}, "fail"),
        ("intra", {"benchmark": None, "errors": [{"check": "verdict", "message": "rank 3 exited"}]}, "fail"),
        ("all", {}, "fail"),
        ("pairs", {"pairs": outcome(SLOW).to_dict()}, "fail"),
        ("pairs", {"pairs": outcome(Network(4, 1, fails=lambda pair, _rail: True)).to_dict()}, "fail"),
        ("pairs", refused("backend", "2 GPUs for 8 ranks"), "fail"),
    ],
)
def test_one_stage_decides(stage: str, document: dict[str, Any], verdict: str) -> None:
    assert verdicts(**{stage: document}) == {**PASSED, stage: verdict, "cluster": verdict}


@pytest.mark.parametrize("stage", ["preflight", "all", "pairs"])
def test_a_command_that_failed_after_its_report_is_no_pass(stage: str) -> None:
    document = {**documents()[stage], "failed": True, "errors": [{"message": "the page could not be written"}]}
    assert verdicts(**{stage: document})[stage] == "fail"


@pytest.mark.parametrize(
    ("scope", "proved", "verdict"),
    [("all", "pass", "pass"), ("all", "fail", "fail"), ("rails", "unknown", "unknown"), ("nodes", "unknown", "pass")],
)
def test_a_bandwidth_over_a_fabric_that_is_not_that_of_the_plan_is_no_pass(
    scope: str, proved: str, verdict: str
) -> None:
    document = documents()["all"]
    document["benchmark"]["scope"] = scope
    document["transport"] = {"verdict": proved, "text": "not as planned: node1: Socket"}
    assert judge("all", document, StageThreshold(SOURCE, 300.0)).verdict == verdict
    assert judge("all", document, StageThreshold(SOURCE, 1e6)).verdict == "fail"


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        (StageThreshold(SOURCE, 300.0), "pass"),
        (StageThreshold(SOURCE, None, 0.85), "pass"),
        (StageThreshold(SOURCE, 300.0, 0.85), "pass"),
        (StageThreshold(SOURCE, 440.0), "fail"),
        (StageThreshold(SOURCE, None, 0.95), "fail"),
        (StageThreshold(SOURCE, 300.0, 0.95), "fail"),
        (StageThreshold(SOURCE, 440.0, 0.85), "fail"),
        (None, "unknown"),
    ],
)
def test_a_benchmark_is_compared_with_its_threshold(threshold: StageThreshold | None, verdict: str) -> None:
    stage = judge("all", documents()["all"], threshold)
    assert (stage.verdict, stage.applies) == (verdict, True)
    assert stage.measured and stage.measured["of_limit"] == pytest.approx(0.9, abs=0.02)


def test_a_limit_that_is_not_known_is_no_pass() -> None:
    document = documents()["all"]
    document["benchmark"]["limit"]["gb_per_s"] = None
    assert judge("all", document, StageThreshold(SOURCE, 300.0)).verdict == "pass"
    assert judge("all", document, StageThreshold(SOURCE, 300.0, 0.1)).verdict == "unknown"


def slowest(name: str, document: dict[str, Any]) -> str | None:
    measured = judge(name, document, None).measured
    return measured["slowest"] if measured else None


def test_the_slowest_group_is_a_rail_or_a_node() -> None:
    assert slowest("all", documents()["all"]) is None
    assert slowest("rails", documents()["rails"]) == "rail 3"
    document = documents()["rails"]
    document["benchmark"]["scope"] = "nodes"
    for row in document["benchmark"]["sizes"]:
        for place, group in enumerate(row["groups"]):
            group["ranks"] = [4 * place, 4 * place + 1]
    assert slowest("intra", document) == "node rank 3"
    assert slowest("intra", {**document, "nodes": [{"node": "n7", "node_rank": 3}]}) == "n7"


def test_what_does_not_apply_decides_nothing() -> None:
    two = {"pairs": outcome(Network(2, 1)).to_dict()}
    alone = refused("scope", "rails makes groups of one rank")
    assert verdicts(rails=alone, pairs=two) == {**PASSED, "rails": "unknown", "pairs": "unknown"}
    assert verdicts(pairs=refused("nodes", "a single node makes no pair")) == {**PASSED, "pairs": "unknown"}


def test_a_cluster_of_which_no_bandwidth_was_measured_is_not_accepted() -> None:
    alone = refused("scope", "all makes groups of one rank")
    assert verdicts(intra=alone, rails=alone, all=alone)["cluster"] == "unknown"


def test_two_nodes_that_do_not_reach_each_other_decide() -> None:
    two = {"pairs": outcome(Network(2, 1, fails=lambda pair, _rail: True)).to_dict()}
    assert verdicts(pairs=two)["cluster"] == "fail"


def test_a_refusal_for_another_reason_besides_is_a_failure() -> None:
    both = refused("scope", "groups of one rank")
    both["errors"] += refused("disks", "full")["errors"]
    assert verdicts(rails=both)["cluster"] == "fail"


def test_an_acceptance_that_was_interrupted_is_no_pass() -> None:
    assert acceptance(is_complete=False).verdict == "unknown"
    assert acceptance(stages=documents(all={}), is_complete=False).verdict == "fail"
    assert acceptance(is_complete=True).verdict == "pass"


def test_an_acceptance_is_read_as_it_was_written() -> None:
    known = acceptance(documents(pairs={"pairs": outcome(SLOW).to_dict()}))
    assert read_acceptance(json.dumps(known.to_document())) == known


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"accept_id": "a"}', '{"stages": 3}', '{"stages": [3]}'])
def test_what_is_no_acceptance_is_none(text: str | None) -> None:
    assert read_acceptance(text) is None


def test_the_last_one_is_the_newest_whole_one_of_the_cluster() -> None:
    now = acceptance()
    before = [
        acceptance(accept_id="a", created="2026-10-20T14:30:52Z"),
        acceptance(accept_id="b", created="2026-11-01T14:30:52Z"),
        acceptance(accept_id="c", created="2026-11-02T14:30:52Z", cluster="other"),
        acceptance(accept_id="d", created="2026-11-03T14:30:52Z", is_complete=False),
        None,
        now,
    ]
    assert last_of(before, now) == before[1]
    assert last_of([now], now) is None


def test_a_stage_without_a_document_has_a_reason() -> None:
    assert all(judge(name, {}, None).reason for name in documents())
    assert StageOutcome.from_dict(judge("all", {}, None).to_dict()) == judge("all", {}, None)
