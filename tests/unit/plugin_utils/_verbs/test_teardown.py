# SPDX-License-Identifier: GPL-3.0-or-later
"""What a teardown asks each node to remove, and what it concludes."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import ReportedError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import teardown
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

REMOVED = {"removed": [{"kind": "run", "name": "run1"}], "kept": [], "engine": None, "failed_on": []}
FAILED = {**REMOVED, "failed": True, "msg": "x", "failed_on": ["run2: Permission denied\x07"]}
SILENT = {"unreachable": True, "msg": "no\x1b[2J route"}


def reported(is_checked: bool = False, **answers: Any) -> Conclusion:
    play = play_of("teardown", {node: {"launch__pruned": answer} for node, answer in answers.items()})
    return teardown.report.conclusion(dataclasses.replace(play, is_checked=is_checked))


@pytest.mark.parametrize("days", [None, 0, 30])
def test_a_node_removes_the_runs_that_are_old_enough(days: int | None) -> None:
    before = int(time.time())
    options = teardown.prune.options(play_of("teardown", {"node0": {}}, {"days": days}), "node0")
    assert options is not None
    assert before <= options["controller_time"] <= time.time()
    expected = {
        "workdir": "~/muster",
        "node": "node0",
        "docker": ["docker"],
        **({} if days is None else {"days": days}),
    }
    assert {**options, "controller_time": None} == {**expected, "controller_time": None}


def test_what_was_removed() -> None:
    conclusion = reported(node0=REMOVED)
    assert conclusion.failure is None
    assert conclusion.document is not None
    assert (conclusion.document["check_mode"], conclusion.document["errors"]) == (False, [])
    assert conclusion.document["nodes"] == [{"node": "node0", "answered": True, "why": None} | REMOVED]
    assert any({"node0", "run1"} <= {*line.replace(":", "").split()} for line in texts(conclusion))


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_node_that_failed_or_did_not_answer_fails_the_teardown(is_checked: bool) -> None:
    conclusion = reported(is_checked, node0=REMOVED, node1=FAILED, node2=SILENT, node3=None)
    assert isinstance(conclusion.failure, ReportedError)
    assert [node in str(conclusion.failure) for node in ("node0", "node1", "node2", "node3")] == [
        *(False, True, True, True)
    ]
    document = conclusion.document
    assert document is not None
    assert document["check_mode"] is is_checked
    assert [node["answered"] for node in document["nodes"]] == [True, True, False, False]
    assert [error["node"] for error in document["errors"]] == ["node1", "node2", "node3"]
    assert len(texts(conclusion)) > 4


def test_a_pod_that_does_not_answer_goes_all_the_same() -> None:
    answers: dict[str, Any] = {"node0": {"launch__pruned": REMOVED}, "node1": {"launch__pruned": SILENT}}
    conclusion = teardown.report.conclusion(play_of("teardown", answers, checked={"changes_pods": True}))
    assert conclusion.failure is None
    assert conclusion.document is not None
    assert [node["node"] for node in conclusion.document["nodes"]] == ["node0"]
