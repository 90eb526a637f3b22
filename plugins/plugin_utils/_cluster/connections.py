# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes have to connect to which, at a port of the kernel's choice.

Every rank of NCCL and Gloo listens at such a port. The root in the head's rank 0 connects back to
each of them (NCCL's bootstrap.cc), and every rank to the next in its ring: a node has to accept what others begin. A
connection that the node itself refuses was let through, so that nothing has to listen there.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.health import Reach
from ansible_collections.muster.train.plugins.module_utils._records.node import Net, NodeFacts, is_ipv6

from .address import is_loopback
from .head_address import interface_towards
from .machines import share_network

# Of those that Linux gives to programs (ip_local_port_range), the first that no service is known to have, and the last.
PORT, LAST_PORT = 47001, 60999


@frozen
class TriedConnection:
    """One that is to be tried, from one node to another; result is what came of it."""

    source: str
    target: str
    address: str
    port: int
    result: Reach | None = None

    @property
    def text(self) -> str:
        """Address and port as `node_facts` takes them."""
        return f"{f'[{self.address}]' if ':' in self.address else self.address}:{self.port}"


def plan_connections(facts: Mapping[str, NodeFacts], head_address: str) -> list[TriedConnection]:
    """Return the connections to try: from the head to every node, and from every node to the next."""
    names = list(facts)
    if len(names) < 2 or share_network(facts):
        return []
    addresses = {name: address_of_ranks(head_address, item.net) for name, item in facts.items()}
    pairs = [(names[0], name) for name in names[1:]] + list(zip(names, [*names[1:], names[0]], strict=True))
    return [
        TriedConnection(source, target, address, _port(facts[target].net))
        for source, target in dict.fromkeys(pairs)
        if (address := addresses[target]) and address != addresses[source]
    ]


def address_of_ranks(head_address: str, net: Net | None) -> str | None:
    """Return the address at which the other nodes connect to this one: that of its interface towards the head."""
    interface = interface_towards(head_address, net) if net else None
    if net is None or interface is None:
        return None
    addresses = [item.address for item in net.addresses if item.interface == interface.name]
    if head_address in addresses:
        return head_address
    return next((text for text in addresses if is_ipv6(text) == is_ipv6(head_address) and _is_reachable(text)), None)


def _is_reachable(address: str) -> bool:
    return not is_loopback(address) and not ipaddress.ip_address(address).is_link_local


def _port(net: Net | None) -> int:
    """Return a port that the kernel may choose there: a firewall may let only those through."""
    taken = set(net.listening) if net else set()
    first, last = (net and net.port_range) or (PORT, LAST_PORT)
    begin = PORT if first <= PORT <= last else first
    return next((port for port in range(begin, last + 1) if port not in taken), begin)
