# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D4: the interface of the ranks' TCP connections.

NCCL connects over TCP even if the data goes over RDMA. By default it takes the first interface whose name begins with
`ib`, else any but docker*, lo and virbr*, which may lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Net

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .ports import ETHERNET, HcaPort
from .view import NodeView, NotSet, decided

RULE = "D4"
NCCL, GLOO = "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"
EXACTLY = "the second = means exactly this name"
# Bridges of this machine and the ends of containers' virtual cables, which do not lead to other machines.
INSIDE = re.compile(r"docker|virbr|veth|cni|podman|br-[0-9a-f]{12}$")


def resolve(
    node: NodeView, rails: Sequence[HcaPort], over_tcp: bool = False
) -> tuple[list[Variable], list[NotSet], list[Finding]]:
    """Name the interface towards the head: `=` is NCCL's exact match, Gloo supports exact names only.

    over_tcp is whether the ranks send their data over TCP to other nodes.
    """
    interface = node.interface
    if interface is None:
        reason = "no route says which interface leads to the head"
        return [], [NotSet(name, RULE, reason) for name in (NCCL, GLOO)], []
    if INSIDE.match(interface.name):
        reason = f"{interface.name} leads only to containers of this machine"
        return [], [NotSet(name, RULE, reason) for name in (NCCL, GLOO)], [_inside(node.name, interface.name)]
    variables = [
        decided(NCCL, f"={interface.name}", RULE, f"{interface.reason}; {EXACTLY}"),
        decided(GLOO, interface.name, RULE, interface.reason),
    ]
    shared = [nic for nic in rails if nic.port.link_layer == ETHERNET and interface.name in nic.netdevs]
    others = {name for name in interfaces(node.net) - {"lo", interface.name} if not INSIDE.match(name)}
    if shared and others:
        return variables, [], [_rail(node.name, interface.name, shared[0])]
    return variables, [], _slower(node, interface.name) if over_tcp else []


def interfaces(net: Net | None) -> set[str]:
    """Return the names of the interfaces that have an address or a route."""
    if net is None:
        return set()
    names = [address.interface for address in net.addresses] + [route.interface for route in net.routes]
    return {name for name in names if name}


def _slower(node: NodeView, interface: str) -> list[Finding]:
    """Report an interface that is faster than the one towards the head."""
    speeds = node.net.speeds if node.net else {}
    outside = {name: speed for name, speed in speeds.items() if not INSIDE.match(name)}
    fastest = max(outside, key=lambda name: outside[name], default=interface)
    if interface not in speeds or outside.get(fastest, 0) <= speeds[interface]:
        return []
    observed = (
        f"the ranks communicate over TCP through {_speed(interface, speeds)}, while {_speed(fastest, speeds)} is up"
    )
    expected = "the fastest network that all nodes share"
    remedy = sentence(
        "set ", Option.HEAD_ADDRESS, f" to the head's address on the network of {fastest}, if all have it"
    )
    return [Finding("interface", node.name, "warn", observed, expected, "facts net", remedy)]


def _speed(interface: str, speeds: Mapping[str, int]) -> str:
    return f"{interface} ({speeds[interface] / 1000:g} Gb/s)"


def _inside(node: str, interface: str) -> Finding:
    observed = f"the route to the head uses {interface}, which ends inside this machine"
    expected = "an interface that leads to other machines"
    remedy = sentence("set ", Option.HEAD_ADDRESS, " to an address of the head on a real network")
    return Finding("interface", node, "warn", observed, expected, "facts net", remedy)


def _rail(node: str, interface: str, rail: HcaPort) -> Finding:
    observed = (
        f"the route to the head uses {interface}, the network device of {rail.label}, "
        "which carries the ranks' RoCE traffic"
    )
    expected = "another interface for the ranks' TCP connections, as rails often do not reach each other"
    remedy = sentence("set ", Option.HEAD_ADDRESS, " to the head's address on the nodes' own network")
    return Finding("interface", node, "warn", observed, expected, "facts net, rdma", remedy)
