# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `memlock_verdict`: whether what the role `memlock` wrote has an effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup import memlock
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: memlock_verdict
short_description: Compare effective limits of locked memory with the plan
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Compares the limits of processes with the plan. What is pending does not count as a problem.
positional: _input
options:
  _input:
    description: The result of P(muster.train.memlock_plan#filter).
    type: dict
    required: true
  login:
    description: The C(login) of M(muster.train.memlock_info) in a new login of the user.
    type: dict
    required: true
  engine:
    description: The C(engine) of M(muster.train.memlock_info) as root. Null if there is none.
    type: dict
"""

EXAMPLES = r"""
- name: Check that it works
  ansible.builtin.assert:
    that: (wanted | muster.train.memlock_verdict(user_read.memlock.login, root_read.memlock.engine)).problems == []
"""

RETURN = r"""
_value:
  description: Lists of sentences. C(problems) are deviations from the plan, C(unknown) is what could not be checked.
  type: dict
"""


def memlock_verdict(planned: Any, login: Any, engine: Any = None) -> dict[str, Any]:
    """Return problems and what is unknown; see DOCUMENTATION."""
    plan = plain(planned)
    return memlock.verdict(plan["wanted"], plain(login), plan["for"], plain(engine), plan["engine_waits"])


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"memlock_verdict": memlock_verdict}
