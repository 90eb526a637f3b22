# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action plugin `nccl_files`: which files each node gets, and what is refused."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.action import nccl_files
from ansible_collections.muster.train.tests.unit.detect_parts import dgx_h100, laptop, mi300x
from ansible_collections.muster.train.tests.unit.plan_parts import facts_dict


def registered(machine: dict[str, Any], number: int = 0, **variables: Any) -> dict[str, Any]:
    return {"nccl_env__facts": {"ansible_facts": {**machine, "node": facts_dict(number)}}, **variables}


def run(hosts: dict[str, Any], **args: Any) -> dict[str, Any]:
    task = MagicMock(args=args, async_val=0, check_mode=False)
    action = nccl_files.ActionModule(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
    result: dict[str, Any] = action.run(task_vars={"groups": {"nodes": list(hosts)}, "hostvars": hosts})
    json.dumps(result)
    return result


def names(result: dict[str, Any]) -> dict[str, list[str]]:
    return {node: [file["name"] for file in files] for node, files in result["nodes"].items()}


def text(result: dict[str, Any], node: str, kind: str) -> str:
    (found,) = [file["text"] for file in result["nodes"][node] if file["kind"] == kind]
    return str(found)


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
    assert result["msg"].startswith("node1: facts: ")
