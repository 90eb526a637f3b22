# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `node_facts`: runs the module; in a launch one worker first builds the module of the next task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.muster.train.plugins.plugin_utils._action.build import build_module

# The variable of the role `launch` that names the next module.
NEXT_MODULE = "launch__next_module"


class ActionModule(ActionBase):
    """Run the module on this node."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        if variables.get(NEXT_MODULE) and not self._task.check_mode and _is_last(variables):
            build_module(self, str(variables[NEXT_MODULE]), task_vars)
        facts = self._execute_module(
            "muster.train.node_facts", dict(self._task.args), task_vars=task_vars, wrap_async=bool(self._task.async_val)
        )
        return {**result, **facts}


def _is_last(variables: Mapping[str, Any]) -> bool:
    """Return whether this is the last of several nodes, whose worker waits while the first one's builds this module."""
    nodes = list(variables.get("ansible_play_hosts_all") or [])
    return len(nodes) > 1 and variables.get("inventory_hostname") == nodes[-1]
