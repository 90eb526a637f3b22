# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `nccl_files`: which files each node gets, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.muster.train.plugins.action import nccl_files
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of
from ansible_collections.muster.train.tests.support.detect_parts import dgx_h100, laptop, mi300x
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict


def registered(machine: dict[str, Any], number: int = 0, **variables: Any) -> dict[str, Any]:
    return {"nccl_env__facts": {"ansible_facts": {**machine, "node": facts_dict(number)}}, **variables}


def run(hosts: dict[str, Any], play_hosts: Sequence[str] = (), **args: Any) -> dict[str, Any]:
    task = MagicMock(args=args, async_val=0, check_mode=False)
    action = nccl_files.ActionModule(task, MagicMock(), MagicMock(), DataLoader(), Templar(loader=DataLoader()), None)
    groups = {"nodes": list(hosts)}
    result = result_of(action, {"groups": groups, "hostvars": Hosts(hosts), "ansible_play_hosts": play_hosts})
    json.dumps(result)
    return result


def names(result: dict[str, Any]) -> dict[str, list[str]]:
    return {node: [file["name"] for file in files] for node, files in result["nodes"].items()}


def text(result: dict[str, Any], node: str, kind: str) -> str:
    (content,) = [file["text"] for file in result["nodes"][node] if file["kind"] == kind]
    return str(content)


def test_it_runs_once_and_contacts_no_node() -> None:
    assert nccl_files.ActionModule.BYPASS_HOST_LOOP is True
    assert nccl_files.ActionModule._requires_connection is False


def test_every_node_gets_its_files() -> None:
    result = run({"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1)}, version="2.23.4")
    assert names(result) == {node: ["nccl.env", "nccl.sh", "nccl.conf"] for node in ("node0", "node1")}
    assert result["changed"] is False
    conf = text(result, "node0", "conf").splitlines()
    assert "NCCL_SOCKET_IFNAME==eth0" in conf
    assert all(line.partition("=")[0].startswith("NCCL_") for line in conf)
    assert "export GLOO_SOCKET_IFNAME='eth0'" in text(result, "node1", "shell").splitlines()


def test_hosts_outside_the_group_are_refused() -> None:
    refusal = run({"node0": registered(dgx_h100())}, play_hosts=["node0", "w0", "w1"])["msg"]
    assert refusal == (
        "w0 and w1: not in the group 'nodes', and NCCL's environment is decided for that group as a whole; "
        "add them to it, or use the role in a play with hosts: nodes"
    )


def test_amd_reads_a_file_of_another_name() -> None:
    assert names(run({"node0": registered(mi300x())}, files=["conf"])) == {"node0": ["rccl.conf"]}


def test_the_layers() -> None:
    hosts = {
        "node0": registered(laptop(), nccl_env_node_variables={"NCCL_DEBUG": "INFO"}),
        "node1": registered(laptop(), 1),
    }
    result = run(hosts, files=["compose"], variables={"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "=ib0"})
    first, second = (text(result, node, "compose").splitlines() for node in hosts)
    assert "NCCL_DEBUG=INFO" in first and "NCCL_DEBUG=WARN" in second
    place = first.index("NCCL_DEBUG=INFO")
    assert first[place - 1].startswith("# node (nccl_env_node_variables): instead of WARN from cluster")
    assert "NCCL_SOCKET_IFNAME==ib0" in first and "NCCL_SOCKET_IFNAME==ib0" in second
    assert any("ib0" in warning for warning in result["warnings"]), "no node has such an interface"


def test_a_value_that_a_file_cannot_hold_is_refused_by_name() -> None:
    result = run({"node0": registered(laptop())}, variables={"MINE": "a'b"})
    assert result["failed"] is True
    assert result["msg"].startswith("node0: file: MINE=a'b: an environment file for compose has no quotes")
    assert "nccl_env_files: [shell, conf]" in result["msg"]
    assert "failed" not in run({"node0": registered(laptop())}, variables={"MINE": "a'b"}, files=["shell", "conf"])


def test_rdma_that_is_not_there_is_refused() -> None:
    result = run({"node0": registered(dgx_h100()), "node1": registered(laptop(), 1)}, mode="rdma")
    assert result["failed"] is True
    assert result["msg"].startswith("node1: ")
    assert "nccl_env_mode" in result["msg"]


@pytest.mark.parametrize("silent", [{}, {"nccl_env__facts": {"unreachable": True, "msg": "no route"}}])
def test_a_node_without_facts_is_refused(silent: dict[str, Any]) -> None:
    """What is decided depends on all nodes, so files for a part of them would be wrong."""
    result = run({"node0": registered(laptop()), "node1": silent})
    assert result["failed"] is True
    assert result["msg"].startswith("node1: answer: ")


def test_what_the_role_is_told_wins_over_its_mode() -> None:
    """nccl_env_mode stands for every run, as launch_defaults do."""
    hosts = {"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1)}
    result = run(hosts, mode="tcp", variables={"NCCL_IB_DISABLE": "0"}, files=["compose"])
    assert "NCCL_IB_DISABLE=0" in text(result, "node0", "compose").splitlines()


def test_the_policy_of_a_launch_counts() -> None:
    policy: dict[str, Any] = {
        "launch_env": {"MINE": "1", "OTHER": "1"},
        "launch_node_env": {"OWN": "1"},
        "launch_defaults": {"channels": 16, "env": {"SET": "1"}, "script": "train.py"},
    }
    result = run({"node0": registered(dgx_h100(), **policy)}, variables={"OTHER": "2"}, files=["compose"])
    lines = text(result, "node0", "compose").splitlines()
    assert {"MINE=1", "OTHER=2", "OWN=1", "SET=1", "NCCL_MIN_NCHANNELS=16"} <= {*lines}


def test_nodes_with_the_same_values_get_the_same_files() -> None:
    """They may share the directory: what one writes must not be what the next changes, at every run again."""
    result = run({"node0": registered(dgx_h100()), "node1": registered(dgx_h100(), 1)}, version="2.27.3")
    assert result["nodes"]["node0"] == result["nodes"]["node1"]
    assert "or on other nodes: route to the head" in " ".join(text(result, "node1", "shell").replace("# ", "").split())


@pytest.mark.parametrize(
    ("name", "value"),
    [("version", "abc"), ("head_address", "1.2.3"), ("head_address", "10.0.0.1:29400"), ("head_address", "a b")],
)
def test_what_is_no_version_or_address_is_refused(name: str, value: str) -> None:
    result = run({"node0": registered(laptop())}, **{name: value})
    assert result["msg"].startswith(f"cluster: environment: nccl_env_{name} is '{value}'; expected a")


def test_remedies_name_the_roles_variables() -> None:
    result = run({"node0": registered(dgx_h100()), "node1": registered(laptop(), 1)}, mode="rdma")
    assert "set nccl_env_mode: tcp" in result["msg"]
    assert "-e mode" not in result["msg"]


def test_the_fabric_and_the_heads_address_of_a_launch() -> None:
    policy: dict[str, Any] = {"launch_defaults": {"mode": "tcp"}, "launch_head_address": "192.168.7.1"}
    lines = text(run({"node0": registered(dgx_h100(), **policy)}, files=["compose"]), "node0", "compose").splitlines()
    assert {"NCCL_IB_DISABLE=1", "GLOO_SOCKET_IFNAME=eth1"} <= {*lines}
    lines = text(
        run({"node0": registered(dgx_h100(), **policy)}, files=["compose"], mode="rdma", head_address="10.0.0.1"),
        "node0",
        "compose",
    ).splitlines()
    assert "GLOO_SOCKET_IFNAME=eth0" in lines and "NCCL_IB_DISABLE=1" not in lines
