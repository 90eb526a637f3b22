# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `memlock_verdict`: whether what the role `memlock` wrote has an effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup import memlock
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: memlock_verdict
short_description: Whether a login and a container may lock as much memory as wanted
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Compares what processes have with what was planned. What is pending is no problem.
positional: _input
options:
  _input:
    description: What P(muster.train.memlock_plan#filter) returned.
    type: dict
    required: true
  login:
    description: The C(login) of M(muster.train.memlock_info) as a fresh login of the user read it.
    type: dict
    required: true
  engine:
    description: The C(engine) of M(muster.train.memlock_info) as root read it. Null where there is none.
    type: dict
"""

EXAMPLES = r"""
- name: Check that it works
  ansible.builtin.assert:
    that: (wanted | muster.train.memlock_verdict(user_read.memlock.login, root_read.memlock.engine)).problems == []
"""

RETURN = r"""
_value:
  description: Lists of sentences. C(problems) is what is not as wanted, C(unknown) what could not be looked at.
  type: dict
"""


def memlock_verdict(planned: Any, login: Any, engine: Any = None) -> dict[str, Any]:
    """Return problems and what is not known; see DOCUMENTATION."""
    wanted = plain(planned)
    return memlock.verdict(wanted["wanted"], plain(login), wanted["for"], plain(engine), wanted["pending"])


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"memlock_verdict": memlock_verdict}
