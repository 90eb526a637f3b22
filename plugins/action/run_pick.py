# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_pick`: chooses the run for a verb among the runs of all nodes."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import OPTIONS, answers
from ansible_collections.muster.train.plugins.plugin_utils._results.pick import pick


class ActionModule(ControllerAction):
    """Choose a run once for all hosts."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        infos = answers(variables, args)
        hosts = variables["hostvars"]
        workdirs = {info.node: str(workdir) for info in infos if (workdir := hosts[info.node].get("launch_workdir"))}
        request = args["request"]
        asked = args["run_id"] or request.get("run_id")
        return {"run_id": pick(infos, asked, request.get("call"), workdirs, request.get("verb"))}
