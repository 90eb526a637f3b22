# SPDX-License-Identifier: GPL-3.0-or-later
"""The address at which the ranks meet: decided once for launch, checks, files and pages.

launch_head_address may be a name. On the head, /etc/hosts often maps the head's own name to 127.0.1.1 (Debian's
installer writes that line): it would listen where no other node connects. So the address is the one that the other
nodes resolve the name to.
"""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.health import ResolvedName
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .._text.table import names, node_names
from .address import is_address, is_loopback
from .head_address import HeadAddress, choose_address
from .machines import share_network
from .shared_addresses import common_address, shared_addresses


def decide_address(facts: Mapping[str, NodeFacts], policy: str, inventory: str) -> tuple[HeadAddress, list[Finding]]:
    """Decide the head's address from the facts of all nodes, the head first; its network is known.

    policy is launch_head_address (empty: not set), inventory how Ansible reaches the head.
    """
    head, of_head = next(iter(facts.items()))
    if of_head.net is None:
        raise AssertionError(f"{head}: facts without the network")
    together = share_network(facts)
    shared = {} if together else shared_addresses(facts)
    if policy in shared:
        return HeadAddress(policy, "launch_head_address"), [_shared(head, policy, shared[policy])]
    addresses = [address for address in of_head.net.addresses if address.address not in shared]
    chosen, findings = choose_address(
        head, policy, inventory, dataclasses.replace(of_head.net, addresses=addresses), together
    )
    if not chosen.value and shared and (common := common_address(facts, shared)):
        chosen, findings = common, []
    resolved, refused = resolve_name(chosen, facts)
    return resolved, [*findings, *refused]


def _shared(head: str, address: str, others: list[str]) -> Finding:
    return Finding(
        check="interface",
        node=head,
        status="fail",
        observed=f"{address} is an address of {names(others)} as well: a connection to it ends on the node itself",
        expected=f"an address that {head} alone has",
        source="launch_head_address",
        remedy=sentence(
            "set ", Option.HEAD_ADDRESS, f" in the inventory to the address of {head} that all nodes reach"
        ),
    )


def resolve_name(chosen: HeadAddress, facts: Mapping[str, NodeFacts]) -> tuple[HeadAddress, list[Finding]]:
    """Replace a name by the address that all nodes but the head, the first of facts, resolve it to.

    It stays where they resolve it differently, and where no node was asked.
    """
    name = chosen.value
    resolutions = {node: item.names[name] for node, item in facts.items() if item.names and name in item.names}
    if not name or is_address(name) or share_network(facts) or not resolutions:
        return chosen, []
    head = next(iter(facts))
    others = {node: _reachable(resolution) for node, resolution in resolutions.items() if node != head}
    if bad := [node for node, addresses in others.items() if not addresses]:
        return chosen, [_unresolved(name, node, resolutions[node]) for node in bad]
    answers = list(others.values())
    common = [address for address in answers[0] if all(address in answer for answer in answers)] if answers else []
    net = facts[head].net
    head_addresses = {item.address for item in net.addresses} if net else set()
    # A link-local address is not the same on all nodes.
    routable = [address for address in common if not ipaddress.ip_address(address).is_link_local]
    if routable:
        address = next((address for address in routable if address in head_addresses), routable[0])
        return HeadAddress(address, f"{chosen.reason} {name}, as resolved by {node_names(list(others))}"), []
    if not common and head in resolutions and not _reachable(resolutions[head]):
        return chosen, [_loopback(name, head, resolutions[head])]
    return chosen, []


def _reachable(resolution: ResolvedName) -> list[str]:
    """Return the addresses that lead to another machine."""
    return [address for address in resolution.addresses if is_address(address) and not is_loopback(address)]


def _unresolved(name: str, node: str, resolution: ResolvedName) -> Finding:
    return Finding(
        check="interface",
        node=node,
        status="fail",
        observed=f"it resolves {name} to {_answer(resolution)}",
        expected="an address of the head",
        source=resolution.source or "the resolver",
        remedy=sentence(
            f"correct the line of {name} in /etc/hosts there, or set ", Option.HEAD_ADDRESS, " to an IP address"
        ),
    )


def _loopback(name: str, head: str, resolution: ResolvedName) -> Finding:
    return Finding(
        check="interface",
        node=head,
        status="fail",
        observed=f"it resolves {name} to {_answer(resolution)}, and the other nodes to different addresses",
        expected="one address of the head on all nodes",
        source=resolution.source or "the resolver",
        remedy=sentence("set ", Option.HEAD_ADDRESS, " to an IP address of the head that all nodes reach"),
    )


def _answer(resolution: ResolvedName) -> str:
    return ", ".join(resolution.addresses) or f"no address ({resolution.error})"
