# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run`: passes the module the runner as one file."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.connection import ModuleRunner
from ansible_collections.muster.train.plugins.plugin_utils._plan.start import start_options


class ActionModule(ModuleRunner):
    """Run the module with the runner among its options."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = start_options(self._task.args)
        return {**result, **self._execute_module("muster.train.run", options, task_vars=task_vars)}
