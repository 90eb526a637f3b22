# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_start`: which options the module `run` gets on which node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.muster.train.plugins.action.run_start import ActionModule
from ansible_collections.muster.train.plugins.plugin_utils._plan.start import RUNNER
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of

ROOT = Path(__file__).resolve().parents[3]
TASKS = ROOT / "roles/launch/tasks/start.yml"
# A text that looks like a template is data: the plan came from a result.
JOBS = {name: {"node": name, "argv": ["{{ 7 * 7 }}"]} for name in ("node0", "node1", "spare")}
PLAN = {"head": {"node": "node0"}, "nodes": ["node0", "node1"], "jobs": JOBS}


def start(
    node: str, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any] | None = None, **variables: Any
) -> tuple[dict[str, Any], list[Any]]:
    """Return the action's result, and the calls of modules."""
    execute = Mock(return_value=answer or {"run": {}})
    monkeypatch.setattr(ActionModule, "_execute_module", execute)
    task_vars = {
        "inventory_hostname": node,
        "launch__plan": {"plan": PLAN},
        "hostvars": Hosts({"localhost": {"launch__key": "k"}}),
        "launch_secrets": {},
        **variables,
    }
    task = Mock(args={}, check_mode=False, diff=False, async_val=0, no_log=False, action="muster.train.run_start")
    templar = Templar(loader=DataLoader(), variables=task_vars)
    result = result_of(ActionModule(task, Mock(), Mock(), DataLoader(), templar, Mock()), task_vars)
    return result, [call.args for call in execute.call_args_list]


def test_a_node_gets_its_job_and_the_head_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    _result, [(module, options)] = start("node1", monkeypatch)
    assert module == "muster.train.run"
    assert options == {"job": JOBS["node1"], "key": "k", "secrets": {}, "runner": RUNNER}
    _result, [(_module, options)] = start("node0", monkeypatch)
    assert options["plan"] == PLAN


def test_secrets_are_rendered_and_become_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"TOKEN": trust_as_template("{{ mine }}")}
    _result, [(_module, options)] = start("node1", monkeypatch, launch_secrets=secrets, mine="hf_1")
    assert json.loads(options["secrets"]) == {"TOKEN": "hf_1"}


def test_a_node_without_a_job_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    result, calls = start("node2", monkeypatch)
    assert result["skipped"]
    assert calls == []


@pytest.mark.parametrize(("node", "failed"), [("node1", True), ("spare", False)])
def test_a_spare_that_fails_to_start_does_not_fail(node: str, failed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _calls = start(node, monkeypatch, {"failed": True, "msg": "no memory"})
    assert (bool(result["failed"]), result["msg"]) == (failed, "no memory")


def test_the_secrets_reach_a_node_without_a_file_whatever_the_inventory_says() -> None:
    [start_task] = [task for task in yaml.safe_load(TASKS.read_text())[0]["block"] if "muster.train.run_start" in task]
    assert start_task["vars"] == {"ansible_pipelining": True, "ansible_ssh_pipelining": True}


def test_a_launch_that_failed_to_start_stops_its_own_processes_only() -> None:
    """Of two launches of one run ID, the one that lost the race must not stop the other."""
    [stop_task] = [task for task in yaml.safe_load(TASKS.read_text())[0]["rescue"] if "muster.train.run_stop" in task]
    assert stop_task["muster.train.run_stop"]["nonce"] == "{{ launch__checked_request.nonce }}"


def test_a_node_that_fails_to_start_stops_the_launch_on_all() -> None:
    [*_others, launch] = yaml.safe_load((ROOT / "playbooks/launch.yml").read_text())
    assert launch["any_errors_fatal"] is True
