# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `rdma`: what a node is asked, what is shown and written, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES
from ansible_collections.muster.train.plugins.plugin_utils._results import documents
from ansible_collections.muster.train.plugins.plugin_utils._verbs import rdma
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.rdma_report_parts import facts_with, old_firmware
from ansible_collections.muster.train.tests.support.verbs import play_of, texts

UNREACHABLE = {rdma.FACTS: {"unreachable": True, "msg": "Connection refused"}}


def registered(facts: dict[str, Any]) -> dict[str, Any]:
    return {rdma.FACTS: {"ansible_facts": facts}}


def reported(hosts: dict[str, dict[str, Any]], policy: dict[str, Any] | None = None, **parameters: Any) -> Conclusion:
    given = {"page": None, "node": None, **parameters}
    return rdma.report.conclusion(play_of("rdma", hosts, given, {"detect_dir": "detect", **(policy or {})}))


THREE = {
    "n1": registered(facts_with()),
    "n2": registered(facts_with(number=1)),
    "n3": registered(facts_with(old_firmware, number=1)),
}


def test_a_node_is_asked_once_for_all_that_rdma_depends_on() -> None:
    options = rdma.gather_facts.options(play_of("rdma", {"n1": {}}, {}, {"launch_workdir": "/w"}), "n1")
    assert options is not None
    assert (options["workdir"], options["docker"], options["subset"]) == ("/w", ["docker"], list(rdma.SUBSET))
    assert {*rdma.SUBSET} <= {*CHOICES}


def test_report_page_and_document(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    conclusion = reported(THREE)
    assert conclusion.failure is None
    assert texts(conclusion)
    data, page = conclusion.files
    assert (page.path, data.path) == (Path("detect/rdma.html"), Path("detect/rdma.json"))
    assert conclusion.document is not None
    assert schemas.errors(documents.document("rdma", None, None, conclusion.document)) == []
    written = json.loads(data.text)
    assert [group["nodes"] for group in written["groups"]] == [["n1", "n2"], ["n3"]]
    assert [difference["features"] for difference in written["groups"][1]["differences"]] == [["mlx5_0 firmware"]]
    node = written["nodes"]["n3"]
    assert [(finding["check"], finding["status"]) for finding in node["findings"] if finding["status"] == "fail"] == [
        ("firmware", "fail")
    ]
    assert [section["checks"] for section in node["sections"] if section["key"] == "devices"] == [{"firmware": "fail"}]
    assert node["facts"]["rdma"]["hcas"][0]["fw_ver"] == "28.38.1002"
    assert [variable["name"] for variable in node["environment"]]


def test_a_node_without_an_answer_fails_the_verb_and_the_others_are_shown() -> None:
    conclusion = reported({**THREE, "n4": UNREACHABLE})
    assert conclusion.failure is not None
    assert [record["node"] for record in conclusion.failure.records()] == ["n4"]
    assert conclusion.document is not None
    assert [node["answered"] for node in conclusion.document["nodes"].values()] == [True, True, True, False]


def test_an_invalid_policy_is_refused() -> None:
    conclusion = reported(THREE, {"preflight_levels": {"firmwares": "off"}})
    assert conclusion.failure is not None
    assert (conclusion.lines, conclusion.files) == ((), ())


def test_a_check_that_is_off_judges_nothing() -> None:
    document = reported(THREE, {"preflight_levels": {"firmware": "off"}}).document
    assert document is not None
    [devices] = [section for section in document["nodes"]["n3"]["sections"] if section["key"] == "devices"]
    assert devices["checks"] == {}
