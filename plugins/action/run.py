# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run`: passes the module the runner as one file."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.plugin_utils._action.connection import ModuleRunner
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp

# Built where Ansible imports this file, in its main process: each worker would build it again.
RUNNER = base64.b64encode(zlib.compress(runner_zipapp(), 9)).decode()


class ActionModule(ModuleRunner):
    """Run the module with the runner among its options."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        args = dict(self._task.args)
        args["runner"] = RUNNER
        if args.get("secrets"):
            args["secrets"] = json.dumps(transform_to_native_types(args["secrets"], redact=False))
        return {**result, **self._execute_module("muster.train.run", args, task_vars=task_vars)}
