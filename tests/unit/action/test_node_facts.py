# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action `node_facts`: one of several workers builds the next module, and nothing depends on it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.action.node_facts import ActionModule

NEXT = "muster.train.run"


class Fake(ActionModule):
    """Records the modules that it builds and runs."""

    def __init__(self, check: bool = False) -> None:
        task = MagicMock(args={"workdir": "/w"}, async_val=0, check_mode=check)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        self.calls: list[tuple[str, str]] = []

    def _configure_module(self, module_name: str, *_words: Any, **_options: Any) -> Any:
        self.calls.append(("build", module_name))
        raise AnsibleError("it cannot be built")

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        assert words[1] == {"workdir": "/w"}
        self.calls.append(("run", words[0]))
        return {"changed": False, "ansible_facts": {}}


@pytest.mark.parametrize(
    ("host", "nodes", "module", "check", "builds"),
    [
        ("n2", ["n1", "n2"], NEXT, False, True),
        ("n1", ["n1", "n2"], NEXT, False, False),
        ("n1", ["n1"], NEXT, False, False),
        ("n2", ["n1", "n2"], None, False, False),
        ("n2", ["n1", "n2"], NEXT, True, False),
    ],
)
def test_the_last_of_several_nodes_builds_the_next_module(
    host: str, nodes: list[str], module: str | None, check: bool, builds: bool
) -> None:
    action = Fake(check)
    variables = {"inventory_hostname": host, "ansible_play_hosts_all": nodes, "launch__next_module": module}
    assert action.run(task_vars=variables)["ansible_facts"] == {}
    assert action.calls == [("build", NEXT)] * builds + [("run", "muster.train.node_facts")]
