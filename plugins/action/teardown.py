# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `teardown`: says per node what was removed and what stays."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction, show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._setup.teardown import answer, lines
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

OPTIONS = {
    "request": {"type": "dict", "required": True},
    "register": {"type": "str", "default": "launch__pruned"},
}


class ActionModule(ControllerAction):
    """Print once, for all nodes; strings from hosts are shown, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        hostvars = variables["hostvars"]
        answers = [
            answer(node, plain((hostvars.get(node) or {}).get(args["register"]))) for node in args["request"]["nodes"]
        ]
        show(["", *lines(answers, self._task.check_mode, WIDTH), ""])
        failed = [each.node for each in answers if each.failed]
        if failed:
            msg = f"{', '.join(failed)}: not all was removed, see above; mend it and run teardown again"
            raise UserError(msg)
        return {}
