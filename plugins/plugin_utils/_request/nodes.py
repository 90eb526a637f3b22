# SPDX-License-Identifier: GPL-3.0-or-later
"""The groups `nodes` and `spares` as the inventory describes them, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.errors import display
from .._text.table import names
from .host_list import SSH_PORT
from .verbs import LAUNCHES

# A node's name becomes a file name: RFC 1123 and the underscore, which many inventories use.
NODE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
# What Ansible passes to ssh, kubectl and the like as one argument: names, IPv4, IPv6 with its interface, user@host.
ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%@-]{0,254}")
PORT = re.compile(r"[0-9]{1,5}")
# The verbs that contact no node of an inventory.
WITHOUT_NODES = ("list", "note", "compare", "report", "doctor", "import", "discover", "submit")


@frozen
class InventoryHost:
    """A host of these groups before it is contacted; without an address, the name is the address."""

    name: str
    address: str | None = None
    port: int | str | None = None

    @property
    def endpoint(self) -> str:
        """Where the node is reached: two names with the same endpoint are one machine."""
        return f"{(self.address or self.name).lower()} port {self.port or SSH_PORT}"


@frozen
class Inventory:
    """The group `nodes` in node-rank order, the group `spares`, and the names of other groups that have hosts."""

    nodes: tuple[InventoryHost, ...]
    spares: tuple[InventoryHost, ...] = ()
    other_groups: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The nodes' names in node-rank order."""
        return [node.name for node in self.nodes]

    @property
    def hosts(self) -> tuple[InventoryHost, ...]:
        """Nodes and spares."""
        return (*self.nodes, *self.spares)


def errors(inventory: Inventory, verb: str, sources: Iterable[str], reasons: Iterable[str] = ()) -> list[str]:
    """Return what is wrong: most verbs need a node in the group, and `launch` one name for each machine.

    reasons say of inventories why they have no nodes.
    """
    lines = []
    if verb not in WITHOUT_NODES and not inventory.nodes:
        lines += [f"inventory: {reason}" for reason in reasons]
    if verb not in WITHOUT_NODES and not inventory.nodes and not lines:
        read = ", ".join(sources) or "no inventory"
        remedy = "give -i inventories/<cluster>, or run from the checkout, whose ansible.cfg names a cluster"
        if inventory.other_groups:
            remedy = f"its hosts are in {names(inventory.other_groups)}; put those that train into 'nodes'"
        lines.append(f"inventory: the group 'nodes' is missing or empty (read: {read}); {remedy}")
    lines += [
        f"inventory: {display(node.name)} is not a valid node name (letters, digits, '.', '_' and '-'); "
        "give the node a plain name and its address as ansible_host"
        for node in inventory.hosts
        if not NODE_NAME.fullmatch(node.name)
    ]
    lines += [line for node in inventory.hosts for line in _address_errors(node)]
    endpoints: dict[str, str] = {}
    for node in inventory.hosts if verb in (*LAUNCHES, "sweep") else ():
        first = endpoints.setdefault(node.endpoint, node.name)
        if first != node.name:
            lines.append(
                f"inventory: {first} and {node.name} are the same machine ({node.endpoint}); "
                "keep one of its names in the groups 'nodes' and 'spares', or correct ansible_host"
            )
    both = [node.name for node in inventory.spares if node.name in inventory.names]
    if both:
        lines.append(f"inventory: {', '.join(both)}: in both groups 'nodes' and 'spares'; keep each in one of them")
    return lines


def _address_errors(node: InventoryHost) -> list[str]:
    """Return what is wrong with a node's address and port; an address that begins with a dash is an option of ssh."""
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
