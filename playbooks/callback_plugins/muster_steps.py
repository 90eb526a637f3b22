# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports what a task's step needs before Ansible forks a worker for each host, which would import it again.

Ansible loads the callbacks beside a playbook by itself, whichever other one prints.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    """Import a verb when its first task begins: 0.15 s that each worker of a launch would take."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "muster_steps"

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if task.action == "muster.train.step":
            # Not above: with an older Python the first action says so.
            from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import find_step

            with contextlib.suppress(LookupError):  # the task says so
                find_step(task.args["name"])
