# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `cluster_preflight`: what is printed and written, when the task fails, and with which code."""

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

from ansible_collections.muster.train.plugins.action import cluster_preflight as preflight
from ansible_collections.muster.train.plugins.plugin_utils._action import output_format, screen
from ansible_collections.muster.train.tests.support.actions import Hosts, result_of
from ansible_collections.muster.train.tests.support.preflight_parts import Facts, facts_of

Preflight = Callable[..., tuple[list[str], dict[str, Any]]]


def registered(number: int = 0, **variables: Any) -> Facts:
    """A node's variables after node_facts."""
    facts = facts_of("laptop", number)
    now = {"wall": 4e9, "asked": 4e9, "synchronized": True}
    facts["node"]["clock"] = now
    return {"preflight__facts": {"ansible_facts": facts}, "ansible_host": f"10.99.0.{number + 1}", **variables}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Preflight:
    """Run the action in an empty directory; returns the printed lines and the result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "WIDTH", 100)
    monkeypatch.setattr("time.time", lambda: 4e9)

    def run(
        hosts: dict[str, Any],
        policy: dict[str, Any] | None = None,
        check: bool = False,
        page: str | None = None,
        **args: Any,
    ) -> tuple[list[str], dict[str, Any]]:
        printed: list[str] = []
        monkeypatch.setattr(screen, "display", MagicMock(display=lambda text, **_options: printed.append(text)))
        request = {
            "nodes": list(hosts),
            "created": "2026-11-21T03:00:00Z",
            "command": "ansible-playbook muster.train.preflight",
            "call": "ansible-playbook",
            "parameters": {
                "output": {"value": "table", "origin": "default", "layer": "default"},
                "mode": {"value": "auto", "origin": "default", "layer": "default"},
                "page": {"value": page, "origin": "-e page", "layer": "extra_vars"},
            },
        }
        task = MagicMock(args={"request": request, **args}, async_val=0, check_mode=check)
        action = preflight.ActionModule(
            task, MagicMock(), MagicMock(), DataLoader(), Templar(loader=DataLoader()), None
        )
        result = result_of(action, {"groups": {}, "hostvars": Hosts(hosts), **(policy or {})})
        json.dumps(result)
        return printed, result

    return run


def test_it_runs_once_and_contacts_no_node() -> None:
    assert preflight.ActionModule.BYPASS_HOST_LOOP is True
    assert preflight.ActionModule._requires_connection is False


def test_all_is_well(run: Preflight) -> None:
    printed, result = run({"node0": registered(), "node1": registered(1)})
    assert printed[1].startswith("preflight: 2 nodes, 2 answered; ")
    assert "failed" not in printed[1]
    assert (result["code"], result["verdict"]) == (0, "preflight: no problem found")
    assert "failed" not in result


def test_a_failed_check_fails_the_task_unless_somebody_else_ends_the_play(run: Preflight) -> None:
    hosts = {"node0": registered(), "node1": registered(1)}
    hosts["node1"]["preflight__facts"]["ansible_facts"]["node"]["code"]["commit"] = "b" * 40
    printed, result = run(hosts)
    assert (result["failed"], result["code"]) == (True, 1)
    assert result["msg"] == "preflight: failed: code on node1"
    assert "failed:" in printed
    _printed, result = run(hosts, stop_on=["error"])
    assert result["code"] == 1
    assert "failed" not in result
    _printed, result = run(hosts, {"preflight_levels": {"code": "warn"}})
    assert result["code"] == 0


def test_a_silent_node_is_code_2(run: Preflight) -> None:
    silent = {"preflight__facts": {"unreachable": True, "msg": "Failed to connect: no\x1b[2J route to host"}}
    printed, result = run({"node0": registered(), "node1": silent}, stop_on=["error"])
    assert (result["failed"], result["code"]) == (True, 2)
    assert all(line.isprintable() for line in printed)


def test_a_level_that_is_none_is_refused_by_name(run: Preflight) -> None:
    _printed, result = run({"node0": registered()}, {"preflight_levels": {"clok": "warn"}})
    assert (result["failed"], result["code"]) == (True, 2)
    assert "there is no check 'clok'; did you mean 'clock'?" in result["msg"]


def test_the_document(run: Preflight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {"node0": registered(), "node1": registered(1)}
    assert run(hosts, json="out/preflight.json")[1]["changed"] is True
    document = json.loads((tmp_path / "out" / "preflight.json").read_text())
    assert document["code"] == 0
    assert document["created"] == "2026-11-21T03:00:00Z"
    assert run(hosts, json="out/preflight.json")[1]["changed"] is False
    monkeypatch.setattr(output_format, "load_extra_vars", lambda _loader: {"output": "json"})
    _printed, result = run(hosts)
    assert result["verb_document"] == {**document, "errors": []}


def test_check_mode_writes_nothing(run: Preflight, tmp_path: Path) -> None:
    run({"node0": registered()}, check=True, json="preflight.json")
    assert list(tmp_path.iterdir()) == []


def test_a_document_that_cannot_be_written(run: Preflight, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _printed, result = run({"node0": registered()}, json="file/preflight.json")
    assert re.search(r"preflight_json: .* could not be written", result["msg"])


def test_the_page_is_written_where_it_is_requested(run: Preflight, tmp_path: Path) -> None:
    hosts = {"node0": registered(), "node1": registered(1)}
    printed, result = run(hosts, page="out/ready.html", check=True)
    assert (result["changed"], list(tmp_path.iterdir())) == (True, [])
    printed, result = run(hosts, page="out/ready.html")
    assert (result["changed"], printed[-1]) == (True, "  page: out/ready.html")
    text = (tmp_path / "out" / "ready.html").read_text()
    assert "<title>Preflight of 2 nodes</title>" in text
    assert "2026-11-21T03:00:00Z · ansible-playbook muster.train.preflight" in text
    assert run(hosts, page="out/ready.html")[1]["changed"] is False
    hosts["node1"]["preflight__facts"]["ansible_facts"]["node"]["code"]["commit"] = "b" * 40
    assert run(hosts, page="out/ready.html")[1]["failed"] is True
    assert "Not ready for a launch: 1 check failed" in (tmp_path / "out" / "ready.html").read_text()
