# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `cluster_discover`: writes the inventory of the hosts that answered, and reports why others did not."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import diff, read_text, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._cluster import unreachable
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, module_reason_key, text_of
from ansible_collections.muster.train.plugins.plugin_utils._discover import inventory
from ansible_collections.muster.train.plugins.plugin_utils._discover.inventory import Discovered, NamedHost
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines as finding_lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned, table

TEMPLATES = Path(__file__).resolve().parents[2] / "roles" / "discover" / "templates"
FILES = {"hosts.yml": "hosts.yml.j2", os.path.join("group_vars", "nodes.yml"): "nodes.yml.j2"}
KNOWN = "known_hosts.txt"
WRITABLE = "a directory that you can write to: run discover where inventories/ can be written, or set discover_dir"
OPTIONS = {
    "request": {"type": "dict", "required": True},
    "keys": {"type": "dict", "required": True},
    "register": {"type": "str", "default": "discover__facts"},
    "dir": {"type": "path", "default": "inventories"},
}


class ActionModule(ControllerAction):
    """Write once, on the controller, what all hosts answered. Strings from hosts are quoted, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request, settings = args["request"], values(args["request"])
        home = Path(args["dir"]).expanduser() / settings["cluster"]
        known = str(home / KNOWN)
        hosts = [_found(host, variables["hostvars"], args["register"], known) for host in args["keys"]["hosts"]]
        discovered = inventory.discover(hosts)
        show(_summary(discovered))
        stopping = [finding for finding in discovered.findings if finding.stops]
        result: dict[str, Any] = {"unreached": [finding.to_dict() for finding in stopping]}
        if self.is_document_requested:
            self.document = {**discovered.to_dict(), "errors": [finding.to_error() for finding in stopping]}
        # With two names for one machine, the right one is not known.
        if not discovered.reached or any(finding.status == "fail" for finding in stopping):
            messages = [*finding_lines(stopping), "nothing was written"]
            return {**result, "failed": True, "msg": "\n".join(messages)}
        about = {
            "user": settings["user"],
            "key": plain(variables.get("ansible_ssh_private_key_file")),
            "cluster": settings["cluster"],
            "command": request["command"],
            "created": request["created"],
        }
        # The time and the command in the files do not count as a difference.
        undated = {**about, "command": inventory.ANY, "created": inventory.ANY}
        templates = {name: (TEMPLATES / template).read_text(encoding="utf-8") for name, template in FILES.items()}
        wanted = {**inventory.files(templates, discovered, about), KNOWN: args["keys"]["known_hosts"]}
        before = {name: read_text(home / name) or "" for name in wanted}
        patterns = {**wanted, **inventory.files(templates, discovered, undated)}
        differing = [name for name in wanted if not inventory.same(before[name], patterns[name])]
        result.update(changed=bool(differing), inventory=str(home))
        if self.document is not None:
            self.document = {**self.document, "inventory": str(home.absolute())}
        if self._task.diff or self._task.check_mode:
            result["diff"] = [diff(home / name, before[name], wanted[name]) for name in differing]
        if not self._task.check_mode:
            for name in differing:
                write_text(home / name, wanted[name], "cluster", WRITABLE)
            show(["", *aligned(_next(home, request))])
        if stopping:
            messages = [
                *finding_lines(stopping),
                f"{home} has the others; fix these and run discover again with -e force=true",
            ]
            return {**result, "failed": True, "msg": "\n".join(messages)}
        return result


def _found(host: Mapping[str, Any], hostvars: Mapping[str, Any], register: str, known: str) -> NamedHost:
    """Return a host with its facts, or with the finding that explains why it has none."""
    node, finding = None, Finding(**host["finding"]) if host["finding"] else None
    if finding is None:
        answer = plain((hostvars.get(host["name"]) or {}).get(register)) or {}
        facts = answer.get("ansible_facts")
        if isinstance(facts, Mapping) and facts.get("node"):
            node = Node.from_facts(host["name"], facts, host["host"])
        else:
            ssh = host["ssh"]
            tried = unreachable.ConnectionAttempt(
                host["name"], ssh["hostname"], ssh["port"], ssh["user"], known, ssh["where"]
            )
            finding = unreachable.why(text_of(answer), tried, "Ansible", module_reason_key(answer))
    return NamedHost(
        name=host["name"],
        host=host["host"],
        address=host["address"],
        user=host["user"],
        port=host["port"],
        node=node,
        finding=finding,
    )


def _summary(discovered: Discovered) -> list[str]:
    """Return the lines: the hosts, the choices for the inventory, and how many hosts were reached."""
    lines = [""]
    if discovered.rows:
        lines += [*table(inventory.HEADERS, discovered.rows, WIDTH), ""]
        chosen = [
            (name, f"{'not set' if choice.value is None else choice.value} - {choice.why}")
            for name, choice in discovered.choices.items()
        ]
        lines += aligned(chosen)
    total, reached = len(discovered.hosts), len(discovered.reached)
    # Findings that stop are in the task's error message.
    others = finding_lines(finding for finding in discovered.findings if not finding.stops)
    return [*lines, "", f"{reached} of {total} hosts answered", *others]


def _next(home: Path, request: Mapping[str, Any]) -> list[tuple[str, str]]:
    to_home = Invocation(f"{Invocation.of(request).call} -i {shlex.quote(str(home))}")
    return [
        ("inventory", str(home)),
        ("look", to_home.playbook("detect")),
        ("set up", to_home.playbook("setup")),
        ("check", to_home.playbook("preflight")),
        ("launch", to_home.playbook("launch", "-e", "script=train.py")),
    ]
