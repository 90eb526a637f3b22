# SPDX-License-Identifier: GPL-3.0-or-later
"""The play of a verb, as its steps know it, from what a test gives as variables of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Play

DEFAULT = {"origin": "default", "layer": "default"}


def play_of(
    verb: str,
    hosts: Mapping[str, Mapping[str, Any]],
    policy: Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    is_checked: bool = False,
    **parameters: Any,
) -> Play:
    """Return a play; hosts have their variables and what is registered, request what its task returned beside it.

    A parameter is a value that was given, or a whole setting.
    """
    settings: dict[str, Any] = {"output": {"value": "table", **DEFAULT}, "mode": {"value": "auto", **DEFAULT}}
    for name, value in parameters.items():
        given = {"value": value, "origin": f"-e {name}", "layer": "extra_vars"}
        settings[name] = value if isinstance(value, dict) else given
    checked = {
        "nodes": list(hosts),
        "created": "2026-11-21T03:00:00Z",
        "command": f"ansible-playbook muster.train.{verb}",
        "call": "ansible-playbook",
        "parameters": settings,
    }
    known = {"localhost": {"launch__request": {"request": checked, **(request or {})}}, **hosts}
    return Play(
        checked,
        read_values=lambda host, names: {name: known[host][name] for name in names if name in known[host]},
        read_policy=lambda names: {name: (policy or {})[name] for name in names if name in (policy or {})},
        read_answer=lambda host, name: known[host].get(name),
        is_checked=is_checked,
    )
