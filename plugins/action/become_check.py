# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `become_check`: becomes root on a node once, and says what is missing where that fails."""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import (
    ConnectionAttempt,
    is_about_root,
    why_not_root,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._text.table import one_line


class ActionModule(Action):
    """Try become on a node. It needs no Python there."""

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            done = self._low_level_execute_command("true", sudoable=True)
        except AnsibleError as error:
            if is_about_root(str(error)):
                raise self._refusal(str(error), variables) from None
            raise
        if done["rc"]:
            raise self._refusal(f"{done['stdout']}\n{done['stderr']}", variables)
        return {}

    def _refusal(self, message: str, variables: dict[str, Any]) -> PlanError:
        node = str(variables["inventory_hostname"])
        tried = ConnectionAttempt(node, node, 22, self._get_remote_user() or None, "", node)
        become: Any = self._connection.become
        finding = why_not_root(message, tried, f"become_method {become.name}")
        words = one_line((message.strip().splitlines() or ["it printed nothing"])[-1])
        return PlanError([dataclasses.replace(finding, observed=f"{finding.observed} ({words})")])
