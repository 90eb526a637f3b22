# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_pick`: where it gets nodes, answers and work directories from."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.muster.train.plugins.action.run_pick import ActionModule


def host(*run_ids: str, **more: Any) -> dict[str, Any]:
    runs = [{"run_id": run_id, "created": f"2026-11-20T14:30:5{run_id[-1]}Z", "phase": "running"} for run_id in run_ids]
    return {"launch__info": {"run": {"node": None, "phase": "not_found"}, "runs": runs}, **more}


def run(hosts: dict[str, Any], groups: dict[str, list[str]] | None = None, **args: Any) -> dict[str, Any]:
    task = MagicMock(args=args, async_val=0, check_mode=False)
    action = ActionModule(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
    result: dict[str, Any] = action.run(task_vars={"groups": groups or {"nodes": list(hosts)}, "hostvars": hosts})
    return result


def test_it_runs_once_and_contacts_no_node() -> None:
    assert ActionModule.BYPASS_HOST_LOOP is True
    assert ActionModule._requires_connection is False


def test_the_newest_run() -> None:
    assert run({"node0": host("run1"), "node1": host("run2")}) == {
        "changed": False,
        "run_id": "run2",
        "head": "node0",
    }


def test_the_run_that_the_request_or_the_task_names() -> None:
    hosts = {"node0": host("run1", "run2", "run3")}
    assert run(hosts, request={"run_id": "run1", "nodes": ["node0"]})["run_id"] == "run1"
    assert run(hosts, request={"run_id": "run1"}, run_id="run2")["run_id"] == "run2"
    assert run(hosts, request={"run_id": None})["run_id"] == "run3"


def test_the_verb_of_the_request_counts() -> None:
    hosts = {"node0": host("run1", "run2")}
    hosts["node0"]["launch__info"]["runs"][0]["alive"] = True
    assert run(hosts, request={"verb": "stop"})["run_id"] == "run1"


def test_only_the_requests_nodes_count() -> None:
    hosts = {"node0": host("run1"), "node1": host("run2")}
    assert run(hosts, request={"nodes": ["node0"]})["run_id"] == "run1"
    assert run(hosts, nodes=["node0"])["run_id"] == "run1"


def test_another_name_of_the_registered_variable() -> None:
    assert run({"node0": {"asked": host("run1")["launch__info"]}}, register="asked")["run_id"] == "run1"


def test_it_says_where_it_looked() -> None:
    hosts = {"node0": host(launch_workdir="/data/muster"), "node1": {"launch__info": {"unreachable": True, "msg": "x"}}}
    with pytest.raises(AnsibleActionFail) as caught:
        run(hosts, request={"call": "ansible-playbook -i lab"})
    assert str(caught.value) == (
        "no run on any node (searched node0:/data/muster; no answer from node1); "
        "to start one: ansible-playbook -i lab muster.train.launch"
    )


def test_the_head_is_a_spare_by_the_plan_or_by_its_own_word(tmp_path: Path) -> None:
    hosts = {"node0": host("run1"), "spare0": host("run1"), "spare1": host("run1")}
    groups = {"nodes": ["node0"], "spares": ["spare0", "spare1"]}
    request = {"run_id": "run1", "nodes": list(hosts), "experiments": str(tmp_path)}
    assert run(hosts, groups, request=request)["head"] == "node0"
    hosts["spare0"]["launch__info"]["run"] = {"run_id": "run1", "phase": "running", "node_rank": 0}
    assert run(hosts, groups, request=request)["head"] == "spare0"
    (tmp_path / "run1").mkdir()
    (tmp_path / "run1" / "plan.json").write_text('{"nodes": ["spare1"], "nproc": 1}')
    assert run(hosts, groups, request=request)["head"] == "spare1"
    (tmp_path / "run1" / "plan.json").write_text('{"nodes": ["not in the inventory"], "nproc": 1}')
    assert run(hosts, groups, request=request)["head"] == "spare0"
