# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `cluster_detect`: what is printed and written, when the task fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.muster.train.plugins.action import cluster_detect as detect
from ansible_collections.muster.train.plugins.plugin_utils._action import output_format, screen
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of
from ansible_collections.muster.train.tests.support.detect_parts import dgx_h100, laptop
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict

Detect = Callable[..., tuple[list[str], dict[str, Any]]]


def registered(machine: dict[str, Any], number: int = 0, **variables: Any) -> dict[str, Any]:
    """A node's variables after node_facts."""
    return {"detect__facts": {"ansible_facts": {**machine, "node": facts_dict(number)}}, **variables}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Detect:
    """Run the action in an empty directory; returns the printed lines and the result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(detect, "WIDTH", 100)

    def run(hosts: dict[str, Any], check: bool = False, **settings: Any) -> tuple[list[str], dict[str, Any]]:
        printed: list[str] = []
        monkeypatch.setattr(screen, "display", MagicMock(display=lambda text, **_options: printed.append(text)))
        values = {"output": "table", "page": None, "mode": "auto", **settings}
        request = {
            "nodes": list(hosts),
            "created": "2026-11-21T03:00:00Z",
            "command": "ansible-playbook muster.train.detect",
            "parameters": {
                name: value
                if isinstance(value, dict)
                else {"value": value, "origin": f"-e {name}", "layer": "extra_vars"}
                for name, value in values.items()
            },
        }
        task = MagicMock(args={"request": request}, async_val=0, check_mode=check)
        action = detect.ActionModule(task, MagicMock(), MagicMock(), DataLoader(), Templar(loader=DataLoader()), None)
        result = result_of(action, {"groups": {}, "hostvars": Hosts(hosts)})
        json.dumps(result)
        return printed, result

    return run


def test_it_runs_once_and_contacts_no_node() -> None:
    assert detect.ActionModule.BYPASS_HOST_LOOP is True
    assert detect.ActionModule._requires_connection is False


def test_table_page_and_document(run: Detect, tmp_path: Path) -> None:
    printed, result = run({"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1)})
    assert all(line.isprintable() for line in printed)
    assert "  2 nodes alike: node0 and node1" in printed
    assert printed[-2:] == ["  page:     detect/detect.html", "  document: detect/detect.json"]
    assert (result["changed"], result["page"]) == (True, str(tmp_path / "detect" / "detect.html"))
    assert "failed" not in result
    assert "<title>Topology of 2 nodes</title>" in (tmp_path / "detect" / "detect.html").read_text()
    document = json.loads((tmp_path / "detect" / "detect.json").read_text())
    assert document["groups"] == [{"nodes": ["node0", "node1"], "differences": []}]
    assert document["nodes"]["node1"]["facts"]["gpu"] == dgx_h100()["gpu"]
    assert document["fabric"]["value"] == "rdma"


def test_the_document_of_the_verb_is_the_file_and_where_it_is(
    run: Detect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_format, "load_extra_vars", lambda _loader: {"output": "json"})
    printed, result = run({"node0": registered(laptop())}, page="out/mine.html")
    file = tmp_path / "out" / "mine.json"
    places = {"page": str(file.with_suffix(".html")), "document": str(file), "errors": []}
    assert result["verb_document"] == {**json.loads(file.read_text()), **places}
    assert not (tmp_path / "detect").exists()
    # People read the same as without it.
    assert any("node0" in line for line in printed)


@pytest.mark.parametrize(
    ("page", "document"), [("a.htm", "a.json"), ("a.b", "a.b.json"), ("plain", "plain.json"), ("a.json", "a.json.json")]
)
def test_the_document_never_takes_the_pages_place(run: Detect, page: str, document: str, tmp_path: Path) -> None:
    run({"node0": registered(laptop())}, page=page)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([page, document])


def test_check_mode_writes_nothing(run: Detect, tmp_path: Path) -> None:
    printed, result = run({"node0": registered(laptop())}, check=True)
    assert result["changed"] is True
    assert list(tmp_path.iterdir()) == []
    assert not any("page:" in line for line in printed)


def test_the_second_time_nothing_is_new(run: Detect) -> None:
    hosts = {"node0": registered(laptop())}
    assert [run(hosts)[1]["changed"] for _time in range(2)] == [True, False]
    assert run({"node0": registered(dgx_h100())})[1]["changed"] is True


def test_a_node_without_an_answer_fails_by_name_after_the_others_were_shown(run: Detect, tmp_path: Path) -> None:
    silent = {"detect__facts": {"unreachable": True, "msg": "Failed to connect: no\x1b[2J route"}}
    printed, result = run({"node0": registered(laptop()), "node1": silent, "node2": {}})
    assert result["failed"] is True
    assert result["msg"].startswith("node1: answer: Failed to connect: no route")
    assert "node2: answer: its facts were not gathered" in result["msg"]
    assert "node0" in printed
    assert (tmp_path / "detect" / "detect.html").is_file()


def test_facts_of_an_earlier_play_do_not_count(run: Detect) -> None:
    old = {"ansible_facts": {**laptop(), "node": facts_dict(0)}, "detect__facts": {"failed": True, "msg": "no Python"}}
    assert run({"node0": old})[1]["msg"].startswith("node0: answer: no Python")


def test_mode_rdma_without_rdma_fails(run: Detect) -> None:
    _printed, result = run({"node0": registered(dgx_h100()), "node1": registered(laptop(), 1)}, mode="rdma")
    assert result["failed"] is True
    assert result["msg"].startswith("node1: ")
    assert "-e mode" in result["msg"]


def test_the_clusters_policy_is_read(run: Detect, tmp_path: Path) -> None:
    cluster: dict[str, Any] = {
        "launch_env": {"NCCL_DEBUG": "WARN"},
        "nccl_env_version": "2.19.3",
        "launch_head_address": "10.0.0.1",
    }
    node_env: dict[str, Any] = {"launch_node_env": {"CUDA_VISIBLE_DEVICES": "0"}}
    run({"node0": registered(dgx_h100(), **cluster, **node_env), "node1": registered(dgx_h100(), 1, **cluster)})
    nodes = json.loads((tmp_path / "detect" / "detect.json").read_text())["nodes"]
    origins = [{variable["name"]: variable["origin"] for variable in nodes[name]["environment"]} for name in nodes]
    assert [origin.get("CUDA_VISIBLE_DEVICES") for origin in origins] == ["node (launch_node_env)", None]
    assert {origin["NCCL_DEBUG"] for origin in origins} == {"cluster (launch_env)"}
    assert nodes["node0"]["library"]["version"] == [2, 19, 3]


def test_what_a_launch_would_set_by_default(run: Detect, tmp_path: Path) -> None:
    policy: dict[str, Any] = {
        "launch_defaults": {"mode": "tcp", "channels": 16, "threads": 256, "env": {"MINE": "1"}, "script": "train.py"}
    }
    default = {"value": "auto", "origin": "default", "layer": "default"}
    run({"node0": registered(dgx_h100(), **policy)}, mode=default)
    node = json.loads((tmp_path / "detect" / "detect.json").read_text())["nodes"]["node0"]
    settings = {variable["name"]: (variable["value"], variable["origin"]) for variable in node["environment"]}
    cluster = "cluster (launch_defaults)"
    assert settings["NCCL_MIN_NCHANNELS"] == ("16", cluster)
    assert settings["NCCL_NTHREADS"] == ("256", cluster)
    assert settings["MINE"] == ("1", cluster)
    assert settings["NCCL_IB_DISABLE"] == ("1", cluster)
    run({"node0": registered(dgx_h100(), **policy)}, mode="rdma")
    node = json.loads((tmp_path / "detect" / "detect.json").read_text())["nodes"]["node0"]
    assert "NCCL_IB_DISABLE" not in {variable["name"] for variable in node["environment"]}


def test_defaults_that_a_launch_would_refuse(run: Detect) -> None:
    _printed, result = run({"node0": registered(laptop(), launch_defaults={"channels": "many"})})
    assert result["msg"].startswith("cluster: channels: expected a whole number from 1 to 128, saw 'many'")
    assert "(cluster (launch_defaults))" in result["msg"]


def test_a_page_that_cannot_be_written(run: Detect, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _printed, result = run({"node0": registered(laptop())}, page="file/page.html")
    assert re.search(r"could not be written .*-e page=PATH", result["msg"])
