# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the inventory that discover writes: the policy that follows from the facts, and the files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._discover import inventory
from ansible_collections.muster.train.plugins.plugin_utils._discover.inventory import Discovered, NamedHost, discover
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.detect_parts import dgx_h100, laptop
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict

TEMPLATES = Path(__file__).resolve().parents[4] / "roles" / "discover" / "templates"
ENGINE: dict[str, Any] = {"command": ["docker"], "version": "28.2.2", "running": True, "compose": "2.36.2"}
SILENT: dict[str, Any] = {"command": ["docker"], "version": "28.2.2", "running": None, "why": "permission denied"}
ABOUT: dict[str, Any] = {
    "user": "ann",
    "key": None,
    "cluster": "lab",
    "command": "ansible-playbook muster.train.discover -e cluster=lab",
    "created": "2026-11-21T22:00:00Z",
}
LOST = Finding("gpu02", "gpu02", "error", "nothing listens", "an SSH server", "network", "start it")


def host(number: int, machine: dict[str, Any], **changes: Any) -> NamedHost:
    name, facts = f"gpu{number:02}", {**machine, "node": facts_dict(number, **changes)}
    return NamedHost(name, name, f"10.0.0.{number + 1}", "ann", None, Node.from_facts(name, facts, name))


def renamed(named: NamedHost, name: str) -> Node:
    assert named.node is not None
    return dataclasses.replace(named.node, name=name)


def written(result: Discovered, **about: Any) -> dict[str, str]:
    templates = {name: (TEMPLATES / f"{name}.yml.j2").read_text() for name in ("hosts", "nodes")}
    return inventory.files(templates, result, {**ABOUT, **about})


def test_alike_nodes_with_gpus_rdma_and_an_engine() -> None:
    result = discover([host(number, dgx_h100(), engine=ENGINE) for number in range(2)])
    assert {name: choice.value for name, choice in result.choices.items()} == {
        "nproc": 8,
        "mode": "rdma",
        "runtime": "host",
        "workdir": "~/muster",
        "head_address": "10.0.0.1",
    }
    assert result.findings == []
    [row] = result.rows
    assert row[0] == "gpu00 and gpu01"
    assert row[1].startswith("8 x NVIDIA H100")
    assert "usable" in row[2]
    assert row[3:5] == ("docker 28.2.2, compose 2.36.2", "unlimited")
    policy = yaml.safe_load(written(result)["nodes"])
    assert policy["launch_defaults"] == {"nproc": 8, "mode": "rdma"}
    assert (policy["launch_runtime"], policy["launch_head_address"], policy["ansible_user"]) == (
        "host", "10.0.0.1", "ann",
    )  # fmt: skip
    # A launch works with what is written; what the other runtime needs stands beside it.
    assert "it needs container_image" in result.choices["runtime"].why
    assert "# container_image: " in written(result)["nodes"]
    assert "# code_source: " in written(result)["nodes"]
    assert "known_hosts.txt" in policy["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in policy["ansible_ssh_common_args"]


def test_nodes_without_anything() -> None:
    result = discover([host(0, laptop(), engine=SILENT)])
    assert result.choices["runtime"].value == "host"
    assert "permission denied" in result.choices["runtime"].why
    assert result.choices["nproc"].value is None
    assert result.choices["mode"].value is None
    policy = yaml.safe_load(written(result)["nodes"])
    assert policy["launch_defaults"] == {"mode": "auto"}
    assert "# nproc: 8" in written(result)["nodes"]


def test_one_node_without_an_engine_is_enough_for_the_host() -> None:
    result = discover([host(0, laptop(), engine=ENGINE), host(1, laptop(), engine=None)])
    assert result.choices["runtime"].value == "host"
    assert "gpu01" in result.choices["runtime"].why
    assert "gpu00" not in result.choices["runtime"].why
    bare = discover([host(0, laptop(), engine={**ENGINE, "compose": None})])
    assert bare.choices["runtime"].value == "host"


def test_gpus_that_differ_are_left_to_the_user() -> None:
    result = discover([host(0, dgx_h100()), host(1, laptop())])
    assert result.choices["nproc"].value is None
    assert "-e nproc=N" in result.choices["nproc"].why
    assert len(result.rows) == 2


def disk(path: str, filesystem: str = "xfs", gib: int = 900, usable: bool = True) -> dict[str, Any]:
    return {"path": path, "filesystem": filesystem, "free_bytes": gib << 30, "usable": usable}


@pytest.mark.parametrize(
    ("disks", "workdir"),
    [
        ([disk("/scratch"), disk("/var/tmp")], "/scratch/ann/muster"),
        ([disk("/scratch", "lustre"), disk("/local", usable=False), disk("/var/tmp", "ext4")], "/var/tmp/ann/muster"),
        ([disk("/scratch", gib=1), disk("/var/tmp", "tmpfs")], "~/muster"),
        (None, "~/muster"),
    ],
)
def test_a_home_that_is_not_local(disks: list[dict[str, Any]] | None, workdir: str) -> None:
    away = {"workdir__filesystem": "nfs4", "user__name": "ann"}
    nodes = [
        host(0, laptop(), **away, disks=[disk("/scratch"), disk("/var/tmp")]),
        host(1, laptop(), **away, disks=disks),
    ]
    choice = discover(nodes).choices["workdir"]
    assert choice.value == workdir
    assert "the home is on nfs4 on gpu00 and gpu01" in choice.why
    assert ("while the file server does not answer" in choice.why) is (workdir == "~/muster")
    assert yaml.safe_load(written(discover(nodes))["nodes"])["launch_workdir"] == workdir


def test_a_local_home_is_the_place_of_runs() -> None:
    nodes = [host(number, laptop(), disks=[disk("/scratch")]) for number in range(2)]
    assert discover(nodes).choices["workdir"].value == "~/muster"


def test_two_names_of_one_machine() -> None:
    same = host(0, laptop())
    other = NamedHost("also", "also", "10.0.0.9", None, None, renamed(same, "also"))
    [finding] = discover([same, other]).findings
    assert (finding.status, finding.node) == ("fail", "also")
    assert "has another name too" in finding.observed


def test_the_order_and_the_hosts_that_did_not_answer() -> None:
    lost = NamedHost("gpu02", "gpu02", None, None, 2222, None, LOST)
    ported = NamedHost("a-2222", "a", "10.0.0.5", "bob", 2222, renamed(host(3, laptop()), "a-2222"))
    result = discover([host(1, laptop()), lost, ported, host(0, laptop())])
    assert result.findings == [LOST]
    text = written(result)["hosts"]
    hosts = yaml.safe_load(text)["nodes"]["hosts"]
    assert list(hosts) == ["gpu01", "a-2222", "gpu00"]
    assert hosts["gpu01"] == {"ansible_host": "gpu01"}, "the user of all stands in group_vars"
    assert hosts["a-2222"] == {"ansible_host": "a", "ansible_port": 2222, "ansible_user": "bob"}
    lines = [line.strip() for line in text.splitlines()]
    assert "# gpu02: not reached, gpu02: nothing listens" in lines
    assert 'ansible_host: "gpu01"  # 10.0.0.2' in lines


def test_no_node_answered() -> None:
    result = discover([NamedHost("gpu02", "gpu02", None, None, None, None, LOST)])
    assert (result.rows, result.choices, result.findings) == ([], {}, [LOST])


@pytest.mark.parametrize("evil", ["x\nlaunch_python: evil", "{{ lookup('pipe', 'id') }}", "x\x1b[2J", "a: b # c"])
def test_what_hosts_say_stays_in_its_place(evil: str) -> None:
    result = discover([host(0, laptop(), engine={**SILENT, "why": evil}, workdir__filesystem=evil, hostname=evil)])
    texts = written(result, key=evil, command=f"ansible-playbook {evil}")
    policy = yaml.safe_load(texts["nodes"])
    assert policy["launch_python"] == "python3"
    assert policy["ansible_ssh_private_key_file"] == evil
    assert policy["launch_workdir"] == "~/muster"
    assert list(yaml.safe_load(texts["hosts"])["nodes"]["hosts"]) == ["gpu00"]
    assert all(line.isprintable() for text in texts.values() for line in text.splitlines())


def test_the_time_of_discovery_is_not_a_difference() -> None:
    result = discover([host(0, laptop())])
    before, later = written(result)["nodes"], written(result, created="2027-01-01T00:00:00Z")["nodes"]
    wanted = written(result, created=inventory.ANY, command=inventory.ANY)["nodes"]
    assert before != later
    assert inventory.same(before, wanted)
    assert inventory.same(later, wanted)
    for change in (("mode: auto", "mode: tcp"), ("# Discovered", "#"), ("\n", "\n# Discovered on Monday\n")):
        assert not inventory.same(before.replace(*change), wanted)
