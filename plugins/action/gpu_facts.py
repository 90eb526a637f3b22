# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `gpu_facts`: only runs the module."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._action.module import ActionModule

__all__ = ["ActionModule"]
