# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `node_facts`: while one worker makes this module ready, another makes the next one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Run the module on this node; on the play's last, of several, after making the next module ready."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        args = dict(self._task.args)
        after = args.pop("then", None)
        if after and not self._task.check_mode and _waits(task_vars or {}):
            # It only saves time: what keeps it from being made ready, or Ansible from doing so, its own task will say.
            with contextlib.suppress(Exception):
                # Kept by Ansible until the playbook ends. No other method makes a module without running it.
                self._configure_module(str(after), {}, task_vars)
        found = self._execute_module(
            "muster.train.node_facts", args, task_vars=task_vars, wrap_async=bool(self._task.async_val)
        )
        return {**result, **found}


def _waits(variables: Mapping[str, Any]) -> bool:
    """Say whether this is the node whose worker would only wait for the first node's, which makes the module."""
    nodes = list(variables.get("ansible_play_hosts_all") or [])
    return len(nodes) > 1 and variables.get("inventory_hostname") == nodes[-1]
