# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans for tests, and a variable of one of their jobs."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import nodes, policy, request

NVIDIA = {"vendor": "nvidia", "count": 8}


def plan_of(count: int = 2, env: Any = None, facts: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
    """The plan of `count` like nodes; env is launch_env, facts changes every node."""
    return make_plan(request(count, **parameters), policy(env=env or {}), nodes(count, **(facts or {})))


def environment(plan: dict[str, Any], name: str = "node0") -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in plan["jobs"][name]["environment"]}


def variable(plan: dict[str, Any], name: str, of: str = "node0") -> tuple[str, str]:
    """The value of a variable, and the layer that gave it."""
    [variable] = [item for item in plan["jobs"][of]["environment"] if item["name"] == name]
    return variable["value"], variable["layer"]


def variables(plan: dict[str, Any], *names: str, of: str = "node0") -> list[str]:
    """What people read about some variables of a job: value, origin and reason."""
    items = {item["name"]: item for item in plan["jobs"][of]["environment"]}
    return [f"{name}={items[name]['value']}  # {items[name]['origin']}: {items[name]['reason']}" for name in names]
