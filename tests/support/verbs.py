# SPDX-License-Identifier: GPL-3.0-or-later
"""The play that a step of a verb knows, with the answers of nodes, and what it concludes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID

# Each host's variables, and what its tasks have registered.
Hosts = Mapping[str, Mapping[str, Any]]
POLICY: dict[str, Any] = {"launch_workdir": "~/muster", "launch_docker": ["docker"], "launch_stop_grace": 60}


def play_of(
    verb: str,
    hosts: Hosts,
    parameters: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    **request: Any,
) -> Play:
    """Return a play with these hosts as its nodes; parameters have their values, or their settings."""
    policy = {**POLICY, **(policy or {})}
    settings = {
        name: value if isinstance(value, Mapping) else {"value": value} for name, value in (parameters or {}).items()
    }
    known = {"verb": verb, "run_id": RUN_ID, "nodes": list(hosts), "call": "ansible-playbook -i lab", "created": ""}
    chosen = {"run_id": request.get("run_id", RUN_ID), "head": next(iter(hosts), None)}
    answers = {host: {"launch__run": chosen, **values} for host, values in hosts.items()}
    return Play(
        {**known, "parameters": settings, **request},
        groups={"nodes": list(hosts)},
        read_values=lambda host, names: {name: hosts[host][name] for name in names if name in hosts.get(host, {})},
        read_policy=lambda names: {name: policy[name] for name in names if name in policy},
        read_answer=lambda host, name: answers.get(host, {}).get(name),
        heads=list(hosts)[:1],
        hosts=list(hosts),
    )


def texts(conclusion: Conclusion) -> list[str]:
    """Return the lines as people read them, all of which can be printed."""
    lines = [line if isinstance(line, str) else line[0] for line in conclusion.lines]
    assert all(line.isprintable() for line in lines)
    return lines
