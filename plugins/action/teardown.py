# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of `teardown`: says per node what was removed and what stays."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._plain import plain
from ansible_collections.muster.train.plugins.plugin_utils._terminal import width
from ansible_collections.muster.train.plugins.plugin_utils._torn_down import answer, lines

display = Display()

WIDTH = width()
OPTIONS = {
    "request": {"type": "dict", "required": True},
    "register": {"type": "str", "default": "launch__pruned"},
}


class ActionModule(ActionBase):
    """Print once, for all nodes; strings from hosts are shown, never templated."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        args = plain(self.validate_argument_spec(OPTIONS)[1])
        hostvars = (task_vars or {})["hostvars"]
        answers = [
            answer(node, plain((hostvars.get(node) or {}).get(args["register"]))) for node in args["request"]["nodes"]
        ]
        for line in ["", *lines(answers, self._task.check_mode, WIDTH), ""]:
            display.display(line)
        result["changed"] = False  # what changed, the nodes' own tasks say
        failed = [each.node for each in answers if each.failed]
        if failed:
            msg = f"{', '.join(failed)}: not all was removed, see above; mend it and run teardown again"
            return {**result, "failed": True, "msg": msg}
        return result
