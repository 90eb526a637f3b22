# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections about the network interfaces of the adapters, their addresses and routes."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from ..._cluster.policy import ClusterPolicy
from ..detected import DetectedNode
from .section import NOT_KNOWN, Section, facts_of, features_of, ports_of, why_no_rdma


def interfaces(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the network interfaces of the ports."""
    known = facts_of(node).interfaces or {}
    headers = ("interface", "of", "state", "MTU", "RDMA MTU", "speed", "carrier changes")
    rows = []
    for name, labels in _netdevs(node).items():
        interface = known.get(name)
        mtus = sorted({nic.port.mtu for nic in ports_of(node) if nic.port.netdev == name and nic.port.mtu})
        numbers = (interface.mtu, interface.speed_mbps, interface.carrier_changes) if interface else (None,) * 3
        mtu, speed, changes = numbers
        rows.append(
            (
                name,
                ", ".join(labels),
                (interface.state if interface else None) or NOT_KNOWN,
                _number(mtu),
                ", ".join(map(str, mtus)),
                "" if speed is None else f"{speed / 1000:g} Gb/s",
                _number(changes),
            )
        )
    absent = why_no_rdma(node) or ("" if rows else "the RDMA devices have no network interface here")
    devices = {name: of for name, of, *_others in rows}
    features = {**devices, **features_of(headers, rows, "state", "MTU", "RDMA MTU", "speed")}
    return Section("interfaces", "Network interfaces", headers, rows, (), features, absent)


def _netdevs(node: DetectedNode) -> dict[str, list[str]]:
    """Return the ports by the names of their interfaces, those of their GIDs (a bond, a VLAN) among them."""
    ports: dict[str, list[str]] = {}
    for nic in ports_of(node):
        for name in sorted(nic.netdevs, key=natural):
            ports.setdefault(name, []).append(nic.label)
    return {name: ports[name] for name in sorted(ports, key=natural)}


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def addresses(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the IP addresses and the routes of the ports' interfaces, and the way to the head."""
    net = facts_of(node).net
    rows = []
    for name in _netdevs(node):
        local = [item.address for item in net.addresses if item.interface == name] if net else []
        routes = [route for route in net.routes if route.interface == name] if net else []
        ways = [f"{way.destination}{f' by {way.gateway}' if way.gateway else ''}" for way in routes]
        rows.append((name, ", ".join(local) or "none", ", ".join(ways) or "none"))
    notes = [f"Towards the head: {node.interface.name}, {node.interface.reason}."] if node.interface else []
    rules = [
        f"{rule.priority} to {rule.destination or 'all'} by table {rule.table}" for rule in (net and net.rules) or ()
    ]
    notes += [f"Rules of policy routing that come first: {', '.join(rules)}."] if rules else []
    absent = why_no_rdma(node) or ("" if rows else "the RDMA devices have no network interface here")
    if not absent and net is None:
        absent = "the network could not be read"
    return Section(
        "addresses", "IP addresses and routes", ("interface", "addresses", "routes"), rows, notes, {}, absent
    )
