# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `memlock_plan`: what the role `memlock` does on a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup import memlock
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: memlock_plan
short_description: Plan the changes to the limits of locked memory
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Compares the result of M(muster.train.memlock_info) on a node with the requested limit.
  - A reload or restart that would disturb a run or a container is pending instead.
positional: _input
options:
  _input:
    description: The result as root.
    type: dict
    required: true
  login:
    description: The C(login) from the result as the user.
    type: dict
    required: true
  limit:
    description: The limit, V(unlimited) or a size such as V(64GiB).
    type: str
    required: true
  name:
    description: The user or V(@group). If empty, the user of the login.
    type: str
    default: ""
  state:
    description: V(absent) removes what was written.
    type: str
    choices: [present, absent]
    default: present
  engine:
    description: Whether to set the limit as the engine's default for containers, too.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show what would have to be done
  ansible.builtin.debug:
    msg: "{{ root_read.memlock | muster.train.memlock_plan(user_read.memlock.login, 'unlimited') }}"
"""

RETURN = r"""
_value:
  description:
    - C(for) and C(wanted) (in bytes, V(-1) is unlimited, null is none) are the interpreted request.
    - C(write) is a list of files, each with C(path) and C(text), C(remove) a list of paths.
    - C(reload) is whether systemd has to be reloaded, C(restart) lists the services that have to be restarted.
    - C(refused) is the reason if there is no plan. Then there is nothing else.
    - C(stays) lists what is kept because the role did not write it, as text.
    - C(pending) lists what is postponed and why, as text. C(changes) is whether there is anything to do.
    - C(engine_waits) is whether a restart of the container engine is postponed.
  type: dict
"""


def memlock_plan(
    node: Any, login: Any, limit: Any, name: str = "", state: str = "present", engine: bool = True
) -> dict[str, Any]:
    """Return the plan; see DOCUMENTATION."""
    try:
        return memlock.plan(plain(node), plain(login), str(name), plain(limit), str(state), bool(engine))
    except ValueError as error:
        return {"refused": str(error)}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"memlock_plan": memlock_plan}
