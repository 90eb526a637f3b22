# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugins, run as Ansible runs them."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


class Hosts(dict[str, Any]):
    """Variables of hosts, as Ansible's HostVars has them."""

    def raw_get(self, name: str) -> Any:
        return self[name]


def result_of(action: ActionBase, variables: dict[str, Any]) -> dict[str, Any]:
    """Run an action plugin; return the task's result, as Ansible has it where the plugin raises an error."""
    try:
        result: dict[str, Any] = action.run(task_vars=variables)
    except AnsibleActionFail as error:
        return {"changed": False, **error.result}
    return result
