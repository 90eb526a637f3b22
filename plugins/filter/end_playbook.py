# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `end_playbook`: ends ansible-playbook with an exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

DOCUMENTATION = r"""
name: end_playbook
short_description: End ansible-playbook with an exit code
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Ends C(ansible-playbook) at once, without an error, where Ansible itself evaluates the condition, as it does for
    M(ansible.builtin.meta) tasks. In any other task it ends only the worker of the task.
  - A failed task ends C(ansible-playbook) with V(2); this is for an end with another meaning.
positional: _input
options:
  _input:
    description: The exit code.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: End with exit code 1 if a check failed
  ansible.builtin.meta: end_play
  when: checked.code != 1 or 1 | muster.train.end_playbook
"""

RETURN = r"""
_value:
  description: Nothing, as the playbook has ended.
  type: bool
"""


def end_playbook(code: int) -> NoReturn:
    """Raise SystemExit, which Ansible lets pass after it has ended its workers."""
    raise SystemExit(code)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Callable[..., NoReturn]]:
        """Return the filter under its name."""
        return {"end_playbook": end_playbook}
