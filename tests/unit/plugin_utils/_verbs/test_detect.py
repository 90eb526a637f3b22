# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `detect`: what a node is asked, what is shown and written, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES
from ansible_collections.muster.train.plugins.plugin_utils._verbs import detect
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, WantedFile
from ansible_collections.muster.train.tests.support.detect_parts import dgx_h100, laptop
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict
from ansible_collections.muster.train.tests.support.verbs import DEFAULT, play_of

Hosts = dict[str, dict[str, Any]]


def registered(machine: dict[str, Any], number: int = 0, **variables: Any) -> dict[str, Any]:
    """A node's variables after node_facts."""
    return {detect.FACTS: {"ansible_facts": {**machine, "node": facts_dict(number)}}, **variables}


def detected(hosts: Hosts, folder: str = "detect", **parameters: Any) -> Conclusion:
    return detect.report.conclusion(play_of("detect", hosts, {"page": None, **parameters}, {"detect_dir": folder}))


def files(conclusion: Conclusion) -> tuple[WantedFile, WantedFile]:
    """Return the document and the page."""
    document, page = conclusion.files
    return document, page


def written(conclusion: Conclusion) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files(conclusion)[0].text)
    return document


def failures(conclusion: Conclusion) -> list[dict[str, Any]]:
    assert conclusion.failure is not None
    return list(conclusion.failure.records())


def test_a_node_is_asked_for_its_hardware() -> None:
    policy: dict[str, Any] = {
        "launch_workdir": "/w",
        "launch_code_dir": "/c",
        "launch_python": None,
        "launch_slot": "b",
    }
    options = detect.gather_facts.options(play_of("detect", {"node0": {}}, {}, policy), "node0")
    assert options == {"workdir": "/w", "code_dir": "/c", "subset": list(detect.SUBSET)}
    assert {*detect.SUBSET} <= {*CHOICES}


def test_table_page_and_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    conclusion = detected({"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1)})
    assert all(str(line).isprintable() for line in conclusion.lines)
    assert "  2 nodes alike: node0 and node1" in conclusion.lines
    assert conclusion.failure is None
    document, page = files(conclusion)
    assert (page.path, document.path) == (Path("detect/detect.html"), Path("detect/detect.json"))
    assert page.note == "\n  page:     detect/detect.html\n  document: detect/detect.json"
    assert (document.note, document.has_diff) == (None, False)
    assert {file.option for file in conclusion.files} == {"page"}
    assert "<title>Topology of 2 nodes</title>" in page.text
    assert written(conclusion)["groups"] == [{"nodes": ["node0", "node1"], "differences": []}]
    assert written(conclusion)["nodes"]["node1"]["facts"]["gpu"] == dgx_h100()["gpu"]
    assert written(conclusion)["fabric"]["value"] == "rdma"


def test_in_what_nodes_differ() -> None:
    nodes = {"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1), "node2": registered(laptop(), 2)}
    alike, other = written(detected(nodes))["groups"]
    assert (alike["nodes"], other["nodes"]) == (["node0", "node1"], ["node2"])
    assert {tuple(difference) for difference in other["differences"]} == {("features", "value", "usual", "node")}


def test_the_document_of_the_verb_is_the_file_and_where_it_is(tmp_path: Path) -> None:
    conclusion = detected({"node0": registered(laptop())}, page=str(tmp_path / "mine.html"))
    places = {"page": str(tmp_path / "mine.html"), "document": str(tmp_path / "mine.json")}
    assert conclusion.result == places
    assert conclusion.document == {**written(conclusion), **places, "errors": []}


@pytest.mark.parametrize(
    ("page", "document"), [("a.htm", "a.json"), ("a.b", "a.b.json"), ("plain", "plain.json"), ("a.json", "a.json.json")]
)
def test_the_document_never_takes_the_pages_place(page: str, document: str) -> None:
    paths = [file.path for file in detected({"node0": registered(laptop())}, page=page).files]
    assert paths == [Path(document), Path(page)]


def test_the_directory_may_name_variables_of_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    for folder in ("~/detect", "$HOME/detect"):
        assert detected({"node0": registered(laptop())}, folder).result["page"] == "/home/ann/detect/detect.html"


def test_the_page_says_whether_anything_has_changed() -> None:
    before, after = (files(detected({"node0": registered(machine)})) for machine in (laptop(), dgx_h100()))
    for file in before:
        assert file.is_same is not None
        assert file.is_same(file.text.replace("2026-11-21", "2026-11-20"))
    document, page = before
    assert document.is_same is not None and document.is_same(after[0].text)
    assert page.is_same is not None and not page.is_same(after[1].text)


def test_a_node_without_an_answer_fails_by_name_after_the_others_were_shown() -> None:
    silent = {detect.FACTS: {"unreachable": True, "msg": "Failed to connect: no\x1b[2J route"}}
    conclusion = detected({"node0": registered(laptop()), "node1": silent, "node2": {}})
    assert [(record["node"], record["check"]) for record in failures(conclusion)] == [
        ("node1", "answer"),
        ("node2", "answer"),
    ]
    assert str(conclusion.failure).startswith("node1: answer: Failed to connect: no route")
    assert failures(conclusion)[1]["observed"] == "its facts were not gathered"
    assert "node0" in conclusion.lines
    assert (len(conclusion.files), conclusion.is_shown) == (2, False)


def test_facts_of_an_earlier_play_do_not_count() -> None:
    old = {"ansible_facts": {**laptop(), "node": facts_dict(0)}, detect.FACTS: {"failed": True, "msg": "no Python"}}
    assert [record["observed"] for record in failures(detected({"node0": old}))] == ["no Python"]


def test_mode_rdma_without_rdma_fails() -> None:
    [failure] = failures(detected({"node0": registered(dgx_h100()), "node1": registered(laptop(), 1)}, mode="rdma"))
    assert (failure["node"], failure["source"]) == ("node1", "-e mode")


def test_the_clusters_policy_is_read() -> None:
    cluster: dict[str, Any] = {
        "launch_env": {"NCCL_DEBUG": "WARN"},
        "nccl_env_version": "2.19.3",
        "launch_head_address": "10.0.0.1",
    }
    node_env: dict[str, Any] = {"launch_node_env": {"CUDA_VISIBLE_DEVICES": "0"}}
    hosts = {"node0": registered(dgx_h100(), **cluster, **node_env), "node1": registered(dgx_h100(), 1, **cluster)}
    nodes = written(detected(hosts))["nodes"]
    origins = [{variable["name"]: variable["origin"] for variable in nodes[name]["environment"]} for name in nodes]
    assert [origin.get("CUDA_VISIBLE_DEVICES") for origin in origins] == ["node (launch_node_env)", None]
    assert {origin["NCCL_DEBUG"] for origin in origins} == {"cluster (launch_env)"}
    assert nodes["node0"]["library"]["version"] == [2, 19, 3]


def test_what_a_launch_would_set_by_default() -> None:
    defaults: dict[str, Any] = {"mode": "tcp", "channels": 16, "threads": 256, "env": {"MINE": "1"}, "script": "a.py"}
    hosts = {"node0": registered(dgx_h100(), launch_defaults=defaults)}

    def environment(**parameters: Any) -> dict[str, tuple[str, str]]:
        variables = written(detected(hosts, **parameters))["nodes"]["node0"]["environment"]
        return {variable["name"]: (variable["value"], variable["origin"]) for variable in variables}

    cluster = "cluster (launch_defaults)"
    wanted = {"NCCL_MIN_NCHANNELS": "16", "NCCL_NTHREADS": "256", "MINE": "1", "NCCL_IB_DISABLE": "1"}
    by_default = environment(mode={"value": "auto", **DEFAULT})
    assert {name: by_default[name] for name in wanted} == {name: (value, cluster) for name, value in wanted.items()}
    assert "NCCL_IB_DISABLE" not in environment(mode="rdma")


def test_defaults_that_a_launch_would_refuse() -> None:
    [failure] = failures(detected({"node0": registered(laptop(), launch_defaults={"channels": "many"})}))
    assert (failure["node"], failure["check"], failure["source"]) == (None, "channels", "cluster (launch_defaults)")
