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
from ansible_collections.muster.train.tests.support.cases import outcomes
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


def disk(path: str, filesystem: str = "xfs", gib: int = 900, usable: bool = True) -> dict[str, Any]:
    return {"path": path, "filesystem": filesystem, "free_bytes": gib << 30, "usable": usable}


SCRATCH, TMP = disk("/scratch"), disk("/var/tmp")
# The disks of the second of two nodes whose home is not local, and where runs are kept then.
DISKS: list[tuple[list[dict[str, Any]] | None, str]] = [
    ([SCRATCH, TMP], "/scratch/ann/muster"),
    ([disk("/scratch", "lustre"), disk("/local", usable=False), disk("/var/tmp", "ext4")], "/var/tmp/ann/muster"),
    ([disk("/scratch", gib=1), disk("/var/tmp", "tmpfs")], "~/muster"),
    (None, "~/muster"),
]


def away(disks: list[dict[str, Any]] | None) -> Discovered:
    remote = {"workdir__filesystem": "nfs4", "user__name": "ann"}
    return discover([host(n, laptop(), **remote, disks=of) for n, of in enumerate(([SCRATCH, TMP], disks))])


ALSO = NamedHost("also", "also", "10.0.0.9", None, None, renamed(host(0, laptop()), "also"))
DISCOVERED = {
    "nodes with everything": discover([host(number, dgx_h100(), engine=ENGINE) for number in range(2)]),
    "nodes without anything": discover([host(0, laptop(), engine=SILENT)]),
    "one node without an engine": discover([host(0, laptop(), engine=ENGINE), host(1, laptop(), engine=None)]),
    "GPUs that differ": discover([host(0, dgx_h100()), host(1, laptop())]),
    "two names of a machine": discover([host(0, laptop()), ALSO]),
}


def test_alike_nodes_with_gpus_rdma_and_an_engine() -> None:
    result = DISCOVERED["nodes with everything"]
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
    assert "# container_image: " in written(result)["nodes"]
    assert "# code_source: " in written(result)["nodes"]
    assert "known_hosts.txt" in policy["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in policy["ansible_ssh_common_args"]


def test_nodes_without_anything() -> None:
    result = DISCOVERED["nodes without anything"]
    assert result.choices["runtime"].value == "host"
    assert result.choices["nproc"].value is None
    assert result.choices["mode"].value is None
    policy = yaml.safe_load(written(result)["nodes"])
    assert policy["launch_defaults"] == {"mode": "auto"}
    assert "# nproc: 8" in written(result)["nodes"]


def test_one_node_without_an_engine_is_enough_for_the_host() -> None:
    choice = DISCOVERED["one node without an engine"].choices["runtime"]
    assert (choice.value, "gpu00" in choice.why, "gpu01" in choice.why) == ("host", False, True)
    bare = discover([host(0, laptop(), engine={**ENGINE, "compose": None})])
    assert bare.choices["runtime"].value == "host"


def test_gpus_that_differ_are_left_to_the_user() -> None:
    result = DISCOVERED["GPUs that differ"]
    assert (result.choices["nproc"].value, len(result.rows)) == (None, 2)


@pytest.mark.parametrize(("disks", "workdir"), DISKS)
def test_a_home_that_is_not_local(disks: list[dict[str, Any]] | None, workdir: str) -> None:
    assert away(disks).choices["workdir"].value == workdir
    assert yaml.safe_load(written(away(disks))["nodes"])["launch_workdir"] == workdir


def test_a_local_home_is_the_place_of_runs() -> None:
    nodes = [host(number, laptop(), disks=[disk("/scratch")]) for number in range(2)]
    assert discover(nodes).choices["workdir"].value == "~/muster"


def test_two_names_of_one_machine() -> None:
    assert outcomes(DISCOVERED["two names of a machine"].findings) == [("node", "also", "fail")]


SILENT_HOST = NamedHost("gpu02", "gpu02", None, None, 2222, None, LOST)
PORTED = NamedHost("a-2222", "a", "10.0.0.5", "bob", 2222, renamed(host(3, laptop()), "a-2222"))
ORDERED = discover([host(1, laptop()), SILENT_HOST, PORTED, host(0, laptop())])


def test_the_order_and_the_hosts_that_did_not_answer() -> None:
    assert ORDERED.findings == [LOST]
    text = written(ORDERED)["hosts"]
    # The user of all stands in group_vars.
    hosts = yaml.safe_load(text)["nodes"]["hosts"]
    assert list(hosts) == ["gpu01", "a-2222", "gpu00"]
    assert hosts["gpu01"] == {"ansible_host": "gpu01"}
    assert hosts["a-2222"] == {"ansible_host": "a", "ansible_port": 2222, "ansible_user": "bob"}
    assert [name in text for name in ("# gpu02", "10.0.0.2")] == [True, True]


def test_no_node_answered() -> None:
    result = discover([SILENT_HOST])
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
