# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports are for the cluster alone, and who the cluster is."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._cluster.ports import of_gang, read_range

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Ports = tuple[int, int]


def plan(
    nodes: Mapping[str, Mapping[str, Any]],
    hosts: Mapping[str, object],
    port_range: str,
    defaults: Mapping[str, Any],
    more_ports: Sequence[object],
    more_addresses: Sequence[object],
) -> dict[str, Any]:
    """Return the ports and the addresses, as nftables writes them. Raise ValueError where no good rules come of it.

    nodes: what ansible.builtin.setup read of each; hosts: the address that the inventory has of each, if it is one.
    """
    ports = _merged([*_of_runs(port_range, defaults), *(_read_ports(each) for each in more_ports)])
    for node, facts in nodes.items():
        if facts.get("all_ipv4_addresses") is None and facts.get("all_ipv6_addresses") is None:
            raise ValueError(
                f"{node}: its addresses could not be read, expected those of every node, because nobody else may "
                "connect; see what setup says of it there (it needs iproute2), or take it out of the inventory"
            )
        _check_session(node, facts, ports)
    extra = [_read_network(each) for each in more_addresses]
    own = _own_addresses({node: _addresses(facts, hosts.get(node)) for node, facts in nodes.items()})
    for node, addresses in own.items():
        if not addresses and not extra:
            raise ValueError(
                f"{node}: no address was seen that it does not share with another node, expected one from which it "
                "reaches the others; name the cluster's addresses in firewall_addresses"
            )
    everybody: list[Any] = [ipaddress.ip_network(each) for each in (*(a for of in own.values() for a in of), *extra)]
    return {
        "ports": [_written(first, last) for first, last in ports],
        **{
            f"ipv{version}": [
                str(each.network_address if each.num_addresses == 1 else each)
                for each in ipaddress.collapse_addresses(each for each in everybody if each.version == version)
            ]
            for version in (4, 6)
        },
    }


def _of_runs(port_range: str, defaults: Mapping[str, Any]) -> list[Ports]:
    """Return the ports at which runs meet: the policy's range, and a port of the cluster's own with its neighbors."""
    try:
        found = [read_range(port_range)]
    except ValueError as error:
        raise ValueError(f"launch_port_range is {port_range!r}, expected {error}") from None
    if defaults.get("master_port"):
        port, restarts = (_number(name, defaults.get(name) or 0) for name in ("master_port", "max_restarts"))
        found.append((of_gang(port), port + restarts))
    return found


def _number(name: str, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ValueError(f"launch_defaults: {name} is {value!r}, expected a number") from None


def _read_ports(value: object) -> Ports:
    match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", str(value))
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= 65535:
        raise ValueError(f"firewall_ports: it has {str(value)!r}, expected a port or FIRST-LAST, as in 32768-60999")
    return first, last


def _merged(ports: Iterable[Ports]) -> list[Ports]:
    """Join what overlaps or touches: a set of nftables takes no interval twice."""
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
    """Refuse to close the port through which the controller came: the fourth word of sshd's SSH_CONNECTION."""
    words = str((facts.get("env") or {}).get("SSH_CONNECTION") or "").split()
    port = int(words[3]) if len(words) == 4 and words[3].isdigit() else 0
    for first, last in ports:
        if first <= port <= last:
            raise ValueError(
                f"{node}: its sshd listens on port {port}, expected none of {_written(first, last)}: whoever is "
                "outside the cluster, as the controller, would be locked out; change launch_port_range "
                "or firewall_ports"
            )


def _read_network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(str(value))
    except ValueError as error:
        raise ValueError(f"firewall_addresses: {error}, expected an address or a network, as in 10.0.0.0/24") from None


def _addresses(facts: Mapping[str, Any], host: object) -> set[Address]:
    """Return the addresses that a node has, and the inventory's, without those that mean one machine or link."""
    texts = [*(facts.get("all_ipv4_addresses") or []), *(facts.get("all_ipv6_addresses") or []), host]
    found = set()
    for text in texts:
        try:
            address = ipaddress.ip_address(str(text))
        except ValueError:  # a name
            continue
        if not (address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast):
            found.add(address)
    return found


def _own_addresses(nodes: Mapping[str, set[Address]]) -> dict[str, set[Address]]:
    """Leave out what several nodes have, such as the container engine's bridge or a gateway before them all."""
    holders = Counter(address for addresses in nodes.values() for address in addresses)
    return {node: {each for each in addresses if holders[each] == 1} for node, addresses in nodes.items()}
