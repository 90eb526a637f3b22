# SPDX-License-Identifier: GPL-3.0-or-later
"""The head's address, and each node's interface towards it."""

from __future__ import annotations

import ipaddress
import re

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import Net, Route, Rule, is_ipv6

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .address import is_address, is_loopback

LOOPBACK = "127.0.0.1"
_LABEL = "[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.ASCII)


@frozen
class HeadAddress:
    """The address at which all nodes reach the head, and why it was chosen."""

    value: str
    reason: str


@frozen
class HeadInterface:
    """The interface that a node uses towards the head, and why."""

    name: str
    reason: str


def choose_address(
    head: str, policy: str, inventory: str, net: Net, together: bool
) -> tuple[HeadAddress, list[Finding]]:
    """Choose the head's address.

    policy is launch_head_address (empty: not set); inventory is how Ansible reaches the head; together means that all
    nodes share one network stack, which alone makes a loopback address reachable for all of them.
    """
    if policy:
        chosen = HeadAddress(policy, "launch_head_address")
        return chosen, [] if together or not is_loopback(policy) else [_loopback(head, policy)]
    addresses = [address.address for address in net.addresses]
    if inventory in addresses and (together or not is_loopback(inventory)):
        return HeadAddress(inventory, f"ansible_host of {head}, which is one of its addresses"), []
    default = net.default_route
    if default is not None:
        on_it = [
            address.address
            for address in net.addresses
            if address.interface == default.interface and is_ipv6(address.address) == is_ipv6(default.destination)
        ]
        if on_it:
            return HeadAddress(on_it[0], f"address of {default.interface}, the interface of {head}'s default route"), []
    if together:
        return HeadAddress(LOOPBACK, "all nodes are on one machine"), []
    return HeadAddress("", "not known"), [_unknown(head, addresses)]


def interface_towards(address: str, net: Net) -> HeadInterface | None:
    """Find the interface that carries traffic to the head's address: its owner on the head itself, else the route's."""
    if not is_address(address):
        return None
    for local in net.addresses:
        if local.address == address:
            return HeadInterface(local.interface, f"has the head's address {address}") if local.interface else None
    target = ipaddress.ip_address(address)
    routes = [route for route in net.routes if target in ipaddress.ip_network(route.destination)]
    route = min(routes, key=_preference, default=None)
    if route is None:
        return None
    through = f" through {route.gateway}" if route.gateway else ""
    return HeadInterface(route.interface, f"route to the head's address {address}: {route.destination}{through}")


def rules_towards(address: str, net: Net) -> list[Rule]:
    """Return the rules of policy routing that may take connections to this address of another node elsewhere."""
    if not is_address(address) or address in [item.address for item in net.addresses]:
        return []
    target = ipaddress.ip_address(address)
    return [
        rule
        for rule in net.rules or []
        if rule.ipv6 == is_ipv6(address)
        and (rule.destination is None or target in ipaddress.ip_network(rule.destination, strict=False))
    ]


def is_reachable(text: str) -> bool:
    """Whether it is an IP address or a valid host name, the last label of which is not a number (RFC 1123 2.1)."""
    return is_address(text) or (_NAME.fullmatch(text) is not None and not text.rpartition(".")[2].isdigit())


def _preference(route: Route) -> tuple[int, int]:
    """Order routes as the kernel does: the longest prefix first, then the lowest metric."""
    return -ipaddress.ip_network(route.destination).prefixlen, route.metric


def _loopback(head: str, address: str) -> Finding:
    return Finding(
        check="interface",
        node=head,
        status="fail",
        observed=f"{address} is a loopback address, but the nodes are on different machines",
        expected=f"an address of {head} that all nodes reach",
        source="launch_head_address",
        remedy=sentence("set ", Option.HEAD_ADDRESS, " in the inventory to such an address, or leave it out"),
    )


def _unknown(head: str, addresses: list[str]) -> Finding:
    return Finding(
        check="interface",
        node=head,
        status="fail",
        observed=f"addresses {', '.join(addresses) or 'none'}, and no default route that selects one of them",
        expected="one address that all nodes reach",
        source="facts net",
        remedy=sentence(
            "set ", Option.HEAD_ADDRESS, f" in the inventory to the address of {head} that all nodes reach"
        ),
    )
