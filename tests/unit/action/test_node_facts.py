# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the action plugins `node_facts` and `job`: what they run, and what they add to it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.action import node_facts
from ansible_collections.muster.train.plugins.action import run as job
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp

NODES = ("a", "b", "c")


def run(
    plugin: Any, args: dict[str, Any], node: str = "a", nodes: Sequence[str] = NODES, check: bool = False, **made: Any
) -> tuple[list[Any], list[Any]]:
    """Return what was made ready, and (module, its arguments) of what was run."""
    action = plugin.ActionModule(
        MagicMock(args=args, async_val=0, check_mode=check), MagicMock(), MagicMock(), MagicMock(), MagicMock(), None
    )
    ready, ran = MagicMock(**made), MagicMock(return_value={"changed": False})
    action._configure_module, action._execute_module = ready, ran
    assert action.run(task_vars={"inventory_hostname": node, "ansible_play_hosts_all": list(nodes)})["changed"] is False
    return [call.args[0] for call in ready.call_args_list], [call.args for call in ran.call_args_list]


@pytest.mark.parametrize(
    ("node", "nodes", "check", "ready"),
    [
        ("a", NODES, False, []),
        ("c", NODES, False, ["muster.train.run"]),
        ("c", NODES, True, []),
        ("a", ["a"], False, []),
    ],
)
def test_one_of_several_nodes_makes_the_next_module_ready(
    node: str, nodes: Sequence[str], check: bool, ready: list[str]
) -> None:
    found = run(node_facts, {"subset": ["net"], "then": "muster.train.run"}, node, nodes, check)
    assert found == (ready, [("muster.train.node_facts", {"subset": ["net"]})])


def test_nothing_is_made_ready_unasked() -> None:
    assert run(node_facts, {}, "c") == ([], [("muster.train.node_facts", {})])


def test_a_module_that_cannot_be_made_ready_does_not_matter_yet() -> None:
    ready, ran = run(node_facts, {"then": "no.such.module"}, "c", side_effect=AnsibleError("not found"))
    assert (ready, len(ran)) == (["no.such.module"], 1)


def test_a_start_brings_the_runner() -> None:
    _ready, [(module, args)] = run(job, {"job": {}, "runner": "another"})
    assert (module, args["job"]) == ("muster.train.run", {})
    assert zlib.decompress(base64.b64decode(args["runner"])) == runner_zipapp()


def test_a_stop_needs_no_runner() -> None:
    assert run(job, {"state": "stopped"}) == ([], [("muster.train.run", {"state": "stopped"})])
