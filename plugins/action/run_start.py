# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_start`: runs the module `run` with a node's job of the plan.

The options are taken from the plan here, because Ansible would compile a template for each, again for every node.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action, raw_values
from ansible_collections.muster.train.plugins.plugin_utils._plan.start import start_options
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain


class ActionModule(Action):
    """Start one node's part of a launch."""

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        plan, node = variables["launch__plan"]["plan"], variables["inventory_hostname"]
        if node not in plan["jobs"]:
            return {"skipped": True, "skip_reason": "a spare takes its place, or it is a spare that is not needed"}
        options = {
            "job": plain(plan["jobs"][node]),
            "key": plain(raw_values("localhost", variables)["launch__key"]),
            "secrets": self.task_values(("launch_secrets",), variables).get("launch_secrets"),
            # The head keeps the plan, so that any controller can collect it.
            **({"plan": plain(plan)} if node == plan["head"]["node"] else {}),
        }
        started: dict[str, Any] = self._execute_module("muster.train.run", start_options(options), task_vars=variables)
        # A spare that fails to start does not fail the launch.
        is_needed = node in plan["nodes"]
        return started if is_needed or not started.get("failed") else {**started, "failed": False}
