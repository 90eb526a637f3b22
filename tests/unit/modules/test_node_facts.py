# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible runs it: options in, JSON out."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.health import (
    Clock,
    DeviceFile,
    Engine,
    GpuHealth,
    GpuState,
    KernelError,
    KernelLog,
    Memory,
    Processes,
    RdmaHealth,
    Reach,
    Sudo,
)
from ansible_collections.muster.train.plugins.module_utils._records.node import Code, NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES, HEALTH
from ansible_collections.muster.train.plugins.module_utils._records.system import Disk
from ansible_collections.muster.train.plugins.modules import node_facts
from ansible_collections.muster.train.tests.support.machines import load
from ansible_collections.muster.train.tests.support.modules import run_module


def test_facts_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load("laptop", tmp_path)
    result = run_module(
        node_facts,
        capsys,
        root=str(tmp_path),
        workdir="/home/me/muster",
        code_dir="/home/me/code",
        files=["train.py", "no.py"],
        config="configs/tiny.yaml",
        ports=["29500"],
        _ansible_check_mode=True,
    )
    assert "failed" not in result
    assert result["warnings"] == []
    assert result["changed"] is False
    assert list(result["ansible_facts"]) == ["node", "rdma", "gpu"]
    node = result["ansible_facts"]["node"]
    assert NodeFacts.from_dict(node).to_dict() == node
    for record, name in ((Rdma, "rdma"), (Gpu, "gpu")):
        assert record.from_dict(result["ansible_facts"][name]).to_dict() == result["ansible_facts"][name]
    assert node["hostname"] == "laptop"
    assert node["workdir"]["path"] == "/home/me/muster"
    assert node["net"]["holders"]["29500"]["run_id"] == "multinode_20261120_143052"
    assert node["files"]["train.py"]["readable"]
    assert not node["files"]["no.py"]["exists"]
    assert node["config"] == {"path": "/home/me/code/configs/tiny.yaml", "text": "steps: 10\n"}


def test_the_facts_as_one_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load("laptop", tmp_path)
    options = {"root": str(tmp_path), "workdir": "/home/me/muster", "subset": ["min", "gpu"]}
    facts, text = (run_module(node_facts, capsys, **options, as_text=as_text) for as_text in (False, True))
    assert "ansible_facts" not in text
    from_module, from_text = facts["ansible_facts"], json.loads(text["facts_text"])
    assert from_text["node"].pop("timings").keys() == from_module["node"].pop("timings").keys()
    # The disk is that of this machine, where other programs write.
    for either in (from_module, from_text):
        assert either["node"]["workdir"].pop("free_bytes") > 0
    assert from_text == from_module


def test_what_cannot_be_seen_is_a_warning_that_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load("container", tmp_path)
    result = run_module(node_facts, capsys, root=str(tmp_path), workdir="/workspace")
    assert "failed" not in result
    assert result["warnings"]
    assert result["ansible_facts"]["node"]["memlock"] is None


PARTS = {
    *("net", "code", "files", "config", "memlock", "limits", "holder"),
    *("container", "disks", "versions", "tools", "kernel"),
}


@pytest.mark.parametrize(
    ("options", "facts", "parts"),
    [
        ({"subset": ["gpu"]}, ["node", "gpu"], set()),
        ({"subset": ["limits", "rdma"]}, ["node", "rdma"], {"memlock", "limits"}),
        ({"gather_subset": ["min"]}, ["node"], set()),
        ({"subset": ["limits", "!min"]}, ["node"], {"memlock", "limits"}),
        ({"subset": ["!all", "!min"]}, ["node"], set()),
        ({"subset": ["!gpu", "!code", "!tools"]}, ["node", "rdma"], PARTS - {"code", "tools", "config", "holder"}),
    ],
)
def test_subset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], facts: list[str], parts: set[str]
) -> None:
    load("hgx_h100", tmp_path)
    actual = run_module(node_facts, capsys, root=str(tmp_path), workdir="/raid/muster", **options)["ansible_facts"]
    assert list(actual) == facts
    assert {part for part in PARTS if actual["node"][part] is not None} == parts
    if "gpu" in actual:
        assert (actual["gpu"]["vendor"], actual["gpu"]["count"]) == ("nvidia", 8)


def test_data_directories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = run_module(node_facts, capsys, workdir=str(tmp_path), data_dirs=[f"{tmp_path}/data"], subset=["disk"])
    paths = [disk["path"] for disk in node["ansible_facts"]["node"]["disks"]]
    assert paths == [str(tmp_path), f"{tmp_path}/data", "/dev/shm", "/tmp"]


def test_home_and_variables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOBS", "jobs")
    node = run_module(node_facts, capsys, workdir="~/$JOBS", subset=["code"])["ansible_facts"]["node"]
    assert node["workdir"]["path"] == node["code"]["path"] == f"{tmp_path}/jobs"
    assert node["user"] == {**node["user"], "uid": os.geteuid(), "home": str(tmp_path)}


def test_the_work_directory_is_muster_in_the_home_where_none_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    node = run_module(node_facts, capsys, subset=["min"])["ansible_facts"]["node"]
    assert node["workdir"]["path"] == f"{tmp_path}/muster"
    assert yaml.safe_load(node_facts.DOCUMENTATION)["options"]["workdir"]["default"] == "~/muster"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workdir": "muster"}, "workdir must be an absolute path on the node, or begin with ~; it is 'muster'"),
        (
            {"workdir": "/w", "code_dir": "c"},
            "code_dir must be an absolute path on the node, or begin with ~; it is 'c'",
        ),
        (
            {"workdir": "/w", "data_dirs": ["/d", "d"]},
            "data_dirs must be an absolute path on the node, or begin with ~; it is 'd'",
        ),
        ({"workdir": "/w", "subset": ["gpus"]}, "value of subset must be one or more of"),
        ({"workdir": "/w", "ports": ["http"]}, "ports"),
    ],
)
def test_wrong_options(capsys: pytest.CaptureFixture[str], options: dict[str, Any], message: str) -> None:
    result = run_module(node_facts, capsys, **options)
    assert result["failed"]
    assert message in result["msg"]


def test_a_root_that_is_not_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_module(node_facts, capsys, root=str(tmp_path / "no"), workdir="/w")
    assert "failed" not in result
    assert f"root {tmp_path}/no is not a directory, so nothing can be read" in str(result["warnings"])
    assert result["ansible_facts"]["node"]["memlock"] is None


def test_the_documentation_matches_the_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = yaml.safe_load(node_facts.DOCUMENTATION)["options"]
    assert options["subset"]["choices"] == list(CHOICES)
    load("laptop", tmp_path)
    result = run_module(node_facts, capsys, root=str(tmp_path), workdir="/w", config="c", files=["f"])
    documented = yaml.safe_load(node_facts.RETURN)["ansible_facts"]["contains"]
    assert list(documented) == list(result["ansible_facts"])
    node = result["ansible_facts"]["node"]
    assert list(documented["node"]["contains"]) == list(node)
    for key, entry in documented["node"]["contains"].items():
        if "contains" in entry and node[key]:
            one = node[key][0] if entry["type"] == "list" else node[key]
            assert list(entry["contains"]) == list(one)


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ("clock", Clock),
        ("devices", DeviceFile),
        ("engine", Engine),
        ("reach", Reach),
        ("kernel_log", KernelLog),
        ("kernel_log.errors", KernelError),
        ("processes", Processes),
        ("memory", Memory),
        ("sudo", Sudo),
        ("rdma_health", RdmaHealth),
        ("gpu_health", GpuHealth),
        ("gpu_health.devices", GpuState),
        ("disks", Disk),
        ("code", Code),
    ],
)
def test_every_part_of_how_a_node_is_has_its_words(path: str, record: Any) -> None:
    documented = yaml.safe_load(node_facts.RETURN)["ansible_facts"]["contains"]["node"]
    for name in path.split("."):
        documented = documented["contains"][name]
    assert list(documented["contains"]) == [field.name for field in dataclasses.fields(record)]


@pytest.mark.parametrize("check", [False, True])
def test_disks_are_written_only_when_asked_and_not_in_check_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], check: bool
) -> None:
    (tmp_path / "data").mkdir()
    code, data = f"{tmp_path}/code", f"{tmp_path}/data"
    options = {"workdir": f"{tmp_path}/w", "code_dir": code, "data_dirs": [data], "subset": ["disk"]}
    node = run_module(node_facts, capsys, **options, probe_disks=True, _ansible_check_mode=check)["ansible_facts"][
        "node"
    ]
    written = {disk["path"]: disk["writable"] for disk in node["disks"]}
    tried = None if check else True
    assert written == {f"{tmp_path}/w": tried, code: None, data: None, "/dev/shm": None, "/tmp": tried}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_how_this_node_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_module(
        node_facts,
        capsys,
        workdir=str(tmp_path),
        asked_at=1.5,
        names=["localhost"],
        docker=["no-such-engine"],
        images=["a:1"],
        reach=["127.0.0.1:1", "nowhere"],
        subset=list(HEALTH),
    )
    node = result["ansible_facts"]["node"]
    assert list(result["ansible_facts"]) == ["node"]
    assert [name for name in HEALTH if node[name] is None] in ([], ["interfaces"])
    assert NodeFacts.from_dict(node).to_dict() == node
    assert node["clock"]["asked"] == 1.5
    assert {"localhost", node["hostname"]} <= set(node["names"])
    assert node["engine"] == {**node["engine"], "running": False, "why": "no-such-engine info: not found", "images": {}}
    assert [(item["port"], item["result"]) for item in node["reach"]] == [(1, "refused"), (0, "unknown")]
    assert node["kernel_log"]["readable"] or node["kernel_log"]["why"]
    assert set(HEALTH) <= set(node["timings"])


def test_the_example_is_a_task_for_this_module() -> None:
    tasks = yaml.safe_load(node_facts.EXAMPLES)
    options = {*yaml.safe_load(node_facts.DOCUMENTATION)["options"], "root"}
    assert tasks
    for task in tasks:
        assert set(task["muster.train.node_facts"]) <= options
