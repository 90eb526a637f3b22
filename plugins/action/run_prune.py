# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_prune`: runs the module, and asks once more where the reason why a connection failed was lost."""

from __future__ import annotations

from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.muster.train.plugins.plugin_utils._action.connection import ModuleRunner


class ActionModule(ModuleRunner, NormalAction):
    """Run the module."""
