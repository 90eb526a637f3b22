# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of the verb `pairs`: its files, its document, and that it fails where something is slow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._verbs import pairs
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import asked, search_of, written
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID, nodes, policy
from ansible_collections.muster.train.tests.support.verbs import play_of, texts


def concluded(folder: Path, text: str) -> Conclusion:
    path = folder / RUN_ID / "outputs" / "pairs.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    plan = make_plan(asked(), policy(), nodes(3))
    hosts: dict[str, dict[str, Any]] = {name: {"launch__plan": {"plan": plan}} for name in plan["nodes"]}
    conclusion = pairs.report.conclusion(play_of("pairs", hosts, experiments=str(folder), run_id=RUN_ID))
    assert schemas.errors(documents.document("pairs", None, None, conclusion.document or {})) == []
    return conclusion


def test_what_is_slow_is_named_and_fails_the_verb(tmp_path: Path) -> None:
    search = search_of(Network(3, 1, bandwidth={(1,): 4.0}))
    conclusion = concluded(tmp_path, json.dumps(written(search)))
    assert conclusion.failure is not None and conclusion.is_shown
    document = dict(conclusion.document or {})["pairs"]
    assert [(item["kind"], item["nodes"]) for item in document["culprits"]] == [("node", ["node1"])]
    assert [node["node"] for node in document["by_node"]] == ["node0", "node1", "node2"]
    assert len(document["samples"]) == len(search.samples)
    assert [(file.path.name, file.is_private) for file in conclusion.files] == [
        ("pairs.json", True),
        ("pairs.html", True),
    ]
    assert json.loads(conclusion.files[0].text) == document
    assert any(line.startswith("node1") and line.endswith("slow") for line in texts(conclusion))


def test_healthy_nodes_pass(tmp_path: Path) -> None:
    conclusion = concluded(tmp_path, json.dumps(written(search_of(Network(3, 1)))))
    assert conclusion.failure is None and not conclusion.is_shown
    assert dict(conclusion.document or {})["pairs"]["culprits"] == []


@pytest.mark.parametrize("doubt", [{"groups": [[0, 1], [2]]}, {"unnamed": 1}, {"unmeasured": 1}])
def test_what_cannot_be_told_fails_the_verb(doubt: dict[str, Any], tmp_path: Path) -> None:
    conclusion = concluded(tmp_path, json.dumps({**written(search_of(Network(3, 1))), **doubt}))
    assert conclusion.failure is not None and conclusion.is_shown
    assert dict(conclusion.document or {})["pairs"]["is_bad"]


@pytest.mark.parametrize(
    "text", ["", "[", json.dumps(written(search_of(Network(4, 1)))), '{"nodes": 3, "rounds": 1, "samples": []}']
)
def test_a_run_that_measured_nothing(text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no measurements"):
        concluded(tmp_path, text)
