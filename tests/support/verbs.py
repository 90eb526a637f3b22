# SPDX-License-Identifier: GPL-3.0-or-later
"""The play that a step of a verb knows, with the answers of nodes, and what it concludes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.reports import RUN_ID
from ansible_collections.muster.train.tests.support.sources import document

# Each host's variables, and what its tasks have registered.
Hosts = Mapping[str, Mapping[str, Any]]
DEFAULT = {"origin": "default", "layer": "default"}


def play_of(
    verb: str,
    hosts: Hosts,
    parameters: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    checked: Mapping[str, Any] | None = None,
    **request: Any,
) -> Play:
    """Return a play with these hosts as its nodes; checked is what the task of the request returned beside it.

    A parameter is a value that was given, or a whole setting.
    """
    policy = policy or {}
    settings: dict[str, Any] = {"output": {"value": "table", **DEFAULT}, "mode": {"value": "auto", **DEFAULT}}
    for name, value in (parameters or {}).items():
        given = {"value": value, "origin": f"-e {name}", "layer": "extra_vars"}
        settings[name] = value if isinstance(value, Mapping) else given
    known: dict[str, Any] = {"verb": verb, "run_id": RUN_ID, "nodes": list(hosts), "call": "ansible-playbook -i lab"}
    known.update(created="2026-11-21T03:00:00Z", command=f"ansible-playbook muster.train.{verb}")
    known.update(request, parameters=settings)
    chosen = {"run_id": known["run_id"], "head": next(iter(hosts), None)}
    answers = {host: {"launch__run": chosen, **values} for host, values in hosts.items()}
    answers["localhost"] = {"launch__request": {"request": known, **(checked or {})}}
    return Play(
        known,
        groups={"nodes": list(hosts)},
        read_values=lambda host, names: {name: hosts[host][name] for name in names if name in hosts.get(host, {})},
        read_policy=lambda names: {name: policy[name] for name in names if name in policy},
        read_answer=lambda host, name: answers.get(host, {}).get(name),
        heads=list(hosts)[:1],
        hosts=list(hosts),
        launch_defaults=document("roles/launch/defaults/main.yml"),
    )


def texts(conclusion: Conclusion) -> list[str]:
    """Return the lines as people read them, all of which can be printed."""
    lines = [line if isinstance(line, str) else line[0] for line in conclusion.lines]
    assert all(line.isprintable() for line in lines)
    return lines
