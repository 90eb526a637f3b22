# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_facts`: runs node_facts with what a plan needs; one worker first builds the module of the next task.

The options are computed here, because Ansible would compile a template for each of them, again for every node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action, raw_values
from ansible_collections.muster.train.plugins.plugin_utils._action.build import build_module
from ansible_collections.muster.train.plugins.plugin_utils._plan.facts import POLICY, facts_options
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

NEXT_MODULE = "muster.train.run"


class ActionModule(Action):
    """Gather one node's facts for a launch."""

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request = raw_values("localhost", variables).get("launch__request", {}).get("request")
        if not request:
            return {"skipped": True, "skip_reason": "no play has checked a request"}  # the plan refuses it
        node = variables["inventory_hostname"]
        if not self._task.check_mode and _is_last(node, variables):
            build_module(self, NEXT_MODULE, variables)
        policy = plain(self.task_values(POLICY, variables))
        options = facts_options(node, values(plain(request)), policy)
        facts: dict[str, Any] = self._execute_module("muster.train.node_facts", options, task_vars=variables)
        return facts


def _is_last(node: str, variables: Mapping[str, Any]) -> bool:
    """Return whether this is the last of several nodes, whose worker waits while the first one's builds node_facts."""
    nodes = list(variables.get("ansible_play_hosts_all") or [])
    return len(nodes) > 1 and node == nodes[-1]
