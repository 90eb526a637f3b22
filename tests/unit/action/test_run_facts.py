# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `run_facts`: one of several workers builds the next module, and nothing depends on it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.action.run_facts import NEXT_MODULE, ActionModule
from ansible_collections.muster.train.tests.support.actions import Hosts
from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.requests import make

DEFAULTS = yaml.safe_load((ROOT / "roles" / "launch" / "defaults" / "main.yml").read_text(encoding="utf-8"))
HOSTS = Hosts(localhost={"launch__request": {"request": make()}})


class Fake(ActionModule):
    """Records the modules that it builds and runs."""

    def __init__(self, check: bool = False) -> None:
        task = MagicMock(args={}, check_mode=check)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        self.calls: list[tuple[str, str]] = []

    def task_values(self, names: Any, variables: Any) -> dict[str, Any]:
        return {name: variables[name] for name in names}

    def _configure_module(self, module_name: str, *_words: Any, **_options: Any) -> Any:
        self.calls.append(("build", module_name))
        raise AnsibleError("it cannot be built")

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        self.calls.append(("run", words[0]))
        return {"workdir": words[1]["workdir"], "node": words[1]["node"]}


@pytest.mark.parametrize(
    ("host", "nodes", "check", "builds"),
    [
        ("n2", ["n1", "n2"], False, True),
        ("n1", ["n1", "n2"], False, False),
        ("n1", ["n1"], False, False),
        ("n2", ["n1", "n2"], True, False),
    ],
)
def test_the_last_of_several_nodes_builds_the_next_module(
    host: str, nodes: list[str], check: bool, builds: bool
) -> None:
    action = Fake(check)
    variables = {**DEFAULTS, "inventory_hostname": host, "ansible_play_hosts_all": nodes, "hostvars": HOSTS}
    facts = action.perform({}, variables)
    assert facts == {"workdir": DEFAULTS["launch_workdir"], "node": host}
    assert action.calls == [("build", NEXT_MODULE)] * builds + [("run", "muster.train.node_facts")]


def test_without_a_request_no_node_is_asked() -> None:
    action = Fake()
    assert action.perform({}, {"hostvars": Hosts(localhost={}), "inventory_hostname": "n1"})["skipped"]
    assert action.calls == []
