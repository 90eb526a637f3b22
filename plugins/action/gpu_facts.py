# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `gpu_facts`: only runs the module."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._action.module import ActionModule

__all__ = ["ActionModule"]
