# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that several nodes have: behind NAT each virtual machine's is 10.0.2.15, and bridges are 172.17.0.1.

Where a node has the head's address itself, it meets itself there, and no other node joins.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Net, NodeFacts

from .address import is_loopback
from .head_address import HeadAddress


def shared_addresses(facts: Mapping[str, NodeFacts]) -> dict[str, list[str]]:
    """Return the addresses of the head, the first of facts, that other nodes have as well, with these nodes."""
    head, *others = facts
    shared: dict[str, list[str]] = {}
    for address in _addresses(facts[head].net):
        holders = [name for name in others if address.address in {item.address for item in _addresses(facts[name].net)}]
        if holders:
            shared[address.address] = holders
    return shared


def common_address(facts: Mapping[str, NodeFacts], shared: Collection[str]) -> HeadAddress | None:
    """Return an address of the head alone in a network in which every other node has one of its own, too."""
    head, *others = facts
    net = facts[head].net
    for address in _addresses(net):
        network = None if address.address in shared else _network_of(address, net)
        if network is not None and all(_is_in(network, facts[name].net, shared) for name in others):
            reason = f"address of {address.interface}, whose network {network} all nodes are in; "
            return HeadAddress(address.address, f"{reason}{', '.join(shared)} is on several nodes")
    return None


def _addresses(net: Net | None) -> Iterator[Address]:
    """Yield the addresses at which others could reach a node."""
    for item in net.addresses if net else ():
        if not is_loopback(item.address) and not ipaddress.ip_address(item.address).is_link_local:
            yield item


def _network_of(address: Address, net: Net | None) -> str | None:
    """Return the network on the link of an address, None where there is no route of its own for it."""
    target = ipaddress.ip_address(address.address)
    networks = [
        route.destination
        for route in (net.routes if net else ())
        if route.interface == address.interface and route.gateway is None and not route.destination.endswith("/0")
    ]
    return next((text for text in networks if target in ipaddress.ip_network(text, strict=False)), None)


def _is_in(network: str, net: Net | None, shared: Collection[str]) -> bool:
    target = ipaddress.ip_network(network, strict=False)
    addresses = (item.address for item in _addresses(net) if item.address not in shared)
    return any(ipaddress.ip_address(text) in target for text in addresses)
