# SPDX-License-Identifier: GPL-3.0-or-later
"""Build a module for the nodes while a controller's worker has nothing else to do."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase


def build_module(action: ActionBase, name: str, variables: Mapping[str, Any] | None) -> None:
    """Build a module that a later task runs; Ansible keeps it until the playbook ends.

    This only saves time, 0.3 s of a launch for each module: what prevents it, the later task reports.
    """
    with contextlib.suppress(Exception):
        # No other method builds a module without running it.
        action._configure_module(name, {}, variables)
