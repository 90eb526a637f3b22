# SPDX-License-Identifier: GPL-3.0-or-later
"""The ports that are only for the cluster, and the cluster's addresses."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._cluster.address import IpAddress
from .._cluster.ports import DEFAULT_RANGE, gang_port, read_range

Ports = tuple[int, int]


def plan(
    nodes: Mapping[str, Mapping[str, Any]],
    hosts: Mapping[str, object],
    port_range: str | None,
    defaults: Mapping[str, Any],
    more_ports: Sequence[object],
    more_addresses: Sequence[object],
) -> dict[str, Any]:
    """Return the ports and the addresses as nftables elements. Raise ValueError if they give no safe rules.

    nodes are the facts of ansible.builtin.setup by node, hosts the inventory's ansible_host, which may be an address.
    """
    ports = _merged([*_of_runs(port_range, defaults), *(_read_ports(item) for item in more_ports)])
    for node, facts in nodes.items():
        if facts.get("all_ipv4_addresses") is None and facts.get("all_ipv6_addresses") is None:
            raise ValueError(
                f"{node}: its addresses could not be read, expected those of every node, because only these may "
                "connect; check what setup reports on it (it needs iproute2), or remove it from the inventory"
            )
        _check_session(node, facts, ports)
    extra = [_read_network(item) for item in more_addresses]
    unique = _unique_addresses({node: _addresses(facts, hosts.get(node)) for node, facts in nodes.items()})
    for node, addresses in unique.items():
        if not addresses and not extra:
            raise ValueError(
                f"{node}: it shares all its addresses with other nodes, expected one from which it "
                "reaches the others; add the cluster's addresses to firewall_addresses"
            )
    members = [*(address for addresses in unique.values() for address in addresses), *extra]
    networks: list[Any] = [ipaddress.ip_network(member) for member in members]
    return {
        "ports": [_written(first, last) for first, last in ports],
        **{
            f"ipv{version}": [
                str(item.network_address if item.num_addresses == 1 else item)
                for item in ipaddress.collapse_addresses(item for item in networks if item.version == version)
            ]
            for version in (4, 6)
        },
    }


def _of_runs(port_range: str | None, defaults: Mapping[str, Any]) -> list[Ports]:
    """Return the ports of runs: the policy's range, and the cluster's default master_port with its neighbors."""
    try:
        result = [read_range(port_range) if port_range else DEFAULT_RANGE]
    except ValueError as error:
        raise ValueError(f"launch_port_range is {port_range!r}, expected {error}") from None
    if defaults.get("master_port"):
        port, restarts = (_number(name, defaults.get(name) or 0) for name in ("master_port", "max_restarts"))
        result.append((gang_port(port), port + restarts))
    return result


def _number(name: str, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ValueError(f"launch_defaults: {name} is {value!r}, expected a number") from None


def _read_ports(value: object) -> Ports:
    match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", str(value))
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= 65535:
        raise ValueError(f"firewall_ports: {str(value)!r}: expected a port or FIRST-LAST, such as 32768-60999")
    return first, last


def _merged(ports: Iterable[Ports]) -> list[Ports]:
    """Join overlapping and adjacent ranges, because an nftables set rejects overlaps."""
    merged: list[Ports] = []
    for first, last in sorted(ports):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _written(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _check_session(node: str, facts: Mapping[str, Any], ports: Sequence[Ports]) -> None:
    """Refuse to close the port of the controller's connection, the fourth word of sshd's SSH_CONNECTION."""
    words = str((facts.get("env") or {}).get("SSH_CONNECTION") or "").split()
    port = int(words[3]) if len(words) == 4 and words[3].isdigit() else 0
    for first, last in ports:
        if first <= port <= last:
            raise ValueError(
                f"{node}: its sshd listens on port {port}, expected none of {_written(first, last)}: hosts outside the "
                "cluster, such as the controller, would be locked out; change launch_port_range or firewall_ports"
            )


def _read_network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(str(value))
    except ValueError as error:
        raise ValueError(
            f"firewall_addresses: {error}, expected an address or a network, such as 10.0.0.0/24"
        ) from None


def _addresses(facts: Mapping[str, Any], host: object) -> set[IpAddress]:
    """Return a node's addresses and the inventory's, except those that are valid on one machine or link only."""
    texts = [*(facts.get("all_ipv4_addresses") or []), *(facts.get("all_ipv6_addresses") or []), host]
    result = set()
    for text in texts:
        try:
            address = ipaddress.ip_address(str(text))
        except ValueError:  # a name
            continue
        if not (address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast):
            result.add(address)
    return result


def _unique_addresses(nodes: Mapping[str, set[IpAddress]]) -> dict[str, set[IpAddress]]:
    """Leave out what several nodes have, such as the container engine's bridge or a shared gateway."""
    holders = Counter(address for addresses in nodes.values() for address in addresses)
    return {node: {item for item in addresses if holders[item] == 1} for node, addresses in nodes.items()}
