# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of `pick`: which run the verb is about, out of what every node has."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.muster.train.plugins.plugin_utils._infos import OPTIONS, answers
from ansible_collections.muster.train.plugins.plugin_utils._pick import NoRun, pick


class ActionModule(ActionBase):
    """Choose a run once for all hosts."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(OPTIONS)
        variables, request = task_vars or {}, args["request"]
        infos = answers(variables, args)
        hosts = variables["hostvars"]
        workdirs = {info.node: str(workdir) for info in infos if (workdir := hosts[info.node].get("launch_workdir"))}
        asked = args["run_id"] or request.get("run_id")
        try:
            run_id = pick(infos, asked, request.get("call"), workdirs, request.get("verb"))
        except NoRun as error:
            raise AnsibleActionFail(str(error)) from None
        return {**result, "changed": False, "run_id": run_id}
