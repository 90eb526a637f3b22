# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The groups `nodes` and `spares` as the inventory describes them, and their faults."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .host_list import SSH_PORT
from .parameters import display

# A node's name becomes a file's name: RFC 1123 and the underscore, which many inventories use.
NODE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


# What Ansible gives to ssh, kubectl and the like as a word of its own: names, IPv4, IPv6 with its interface, user@host.
ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%@-]{0,254}")
PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Host:
    """A host of these groups before it is asked; without an address its name is its address."""

    name: str
    address: str | None = None
    port: int | str | None = None

    @property
    def endpoint(self) -> str:
        """Where the node is reached: two names with the same endpoint are one machine."""
        return f"{(self.address or self.name).lower()} port {self.port or SSH_PORT}"


@dataclass(frozen=True)
class Inventory:
    """The group `nodes` in node-rank order, the group `spares`, where they were read from, and what `--limit` said."""

    nodes: tuple[Host, ...]
    sources: tuple[str, ...]
    limit: str | None
    spares: tuple[Host, ...] = ()

    @property
    def names(self) -> list[str]:
        """The nodes' names in node-rank order."""
        return [node.name for node in self.nodes]

    @property
    def everybody(self) -> list[str]:
        """The names of nodes and spares."""
        return [node.name for node in (*self.nodes, *self.spares)]


# What to do instead of --limit.
FEWER = {
    "launch": "Ansible would leave out nodes without a word, use -e nnodes=N for fewer nodes",
    "logs": "logs asks all nodes of a run, leave it out or show one node's lines with -e node=NAME",
    "detect": "detect compares all nodes of the cluster, leave it out",
    "preflight": "preflight compares all nodes of the cluster, leave it out",
    "list": "list asks no node, leave it out",
    "discover": "discover asks the hosts that it is given, leave it out",
    "teardown": "teardown asks all nodes of the cluster, leave it out",
}


def errors(inventory: Inventory, verb: str) -> list[str]:
    """Return what is wrong: most verbs want a node in the group, `launch` one name for each machine."""
    needed, distinct = verb not in ("list", "discover"), verb == "launch"
    lines = []
    if inventory.limit:
        advice = FEWER.get(verb, f"{verb} asks all nodes of a run, leave it out")
        lines.append(f"--limit: expected none, saw {display(inventory.limit)}; {advice}")
    if needed and not inventory.nodes:
        read = ", ".join(inventory.sources) or "no inventory"
        lines.append(
            f"inventory: the group 'nodes' is missing or empty (read: {read}); "
            "give -i inventories/<cluster>, or run from the checkout, whose ansible.cfg names a cluster"
        )
    lines += [
        f"inventory: {display(node.name)} is no name for a node (letters, digits, '.', '_' and '-'); "
        "give the node a plain name and its address as ansible_host"
        for node in (*inventory.nodes, *inventory.spares)
        if not NODE_NAME.fullmatch(node.name)
    ]
    lines += [line for node in (*inventory.nodes, *inventory.spares) for line in _unreachable(node)]
    endpoints: dict[str, str] = {}
    for node in (*inventory.nodes, *inventory.spares) if distinct else ():
        first = endpoints.setdefault(node.endpoint, node.name)
        if first != node.name:
            lines.append(
                f"inventory: {first} and {node.name} are the same machine ({node.endpoint}); "
                "keep one name of it in the groups 'nodes' and 'spares', or correct ansible_host"
            )
    both = [node.name for node in inventory.spares if node.name in inventory.names]
    if both:
        lines.append(f"inventory: {', '.join(both)}: in the group 'nodes' and in 'spares'; keep it in one of them")
    return lines


def _unreachable(node: Host) -> list[str]:
    """Return what is wrong with where a node is reached; an address with a dash first would be an option of ssh."""
    lines = []
    if node.address and not ADDRESS.fullmatch(node.address):
        lines.append(
            f"inventory: {display(node.name)}: ansible_host: expected a host name or an address, "
            f"saw {display(node.address)}; correct it"
        )
    if node.port not in (None, "") and not PORT.fullmatch(str(node.port)):
        lines.append(
            f"inventory: {display(node.name)}: ansible_port: expected a number, saw {display(node.port)}; correct it"
        )
    return lines
