# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of modules that need nothing of the controller."""

from __future__ import annotations

from ansible.plugins.action.normal import ActionModule as NormalAction

from .connection import ModuleRunner


class ActionModule(ModuleRunner, NormalAction):
    """Run the task's module as Ansible does, and ask once more where the reason why a connection failed was lost."""
