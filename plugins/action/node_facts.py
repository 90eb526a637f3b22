# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of every module that needs nothing of the controller, by the `plugin_routing` in meta/runtime.yml."""

from __future__ import annotations

from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.muster.train.plugins.plugin_utils._action.connection import ModuleRunner


class ActionModule(ModuleRunner, NormalAction):
    """Run the task's module as Ansible does, and ask once more where the reason why a connection failed was lost."""
