# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D4: the interface of the ranks' TCP connections.

NCCL meets over TCP even where the data goes over RDMA. By itself it takes the first interface whose name begins with
`ib`, else any but docker*, lo and virbr*, which may lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Net

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .ports import ETHERNET, HcaPort
from .view import NodeView, NotSet, decided

RULE = "D4"
NCCL, GLOO = "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"
EXACTLY = "the second = means exactly this name"
# Bridges of this machine and the ends of containers' cables: no other machine is behind them.
INSIDE = re.compile(r"docker|virbr|veth|cni|podman|br-[0-9a-f]{12}$")


def resolve(node: NodeView, rails: Sequence[HcaPort]) -> tuple[list[Variable], list[NotSet], list[Finding]]:
    """Name the interface towards the head: `=` is NCCL's exact match, Gloo knows exact names only."""
    interface = node.interface
    if interface is None:
        reason = "no route says which interface leads to the head"
        return [], [NotSet(NCCL, RULE, reason), NotSet(GLOO, RULE, reason)], []
    if INSIDE.match(interface.name):
        reason = f"{interface.name} leads to containers of this machine only"
        return [], [NotSet(NCCL, RULE, reason), NotSet(GLOO, RULE, reason)], [_inside(node.name, interface.name)]
    variables = [
        decided(NCCL, f"={interface.name}", RULE, f"{interface.reason}; {EXACTLY}"),
        decided(GLOO, interface.name, RULE, interface.reason),
    ]
    of = [each for each in rails if each.port.link_layer == ETHERNET and interface.name in each.netdevs]
    if of and interfaces(node.net) - {"lo", interface.name}:
        return variables, [], [_rail(node.name, interface.name, of[0])]
    return variables, [], []


def interfaces(net: Net | None) -> set[str]:
    """Return the names of the interfaces that have an IPv4 address or route."""
    if net is None:
        return set()
    found = {address.interface for address in net.addresses} | {route.interface for route in net.routes}
    return {name for name in found if name}


def _inside(node: str, interface: str) -> Finding:
    return Finding(
        check="interface",
        node=node,
        status="warn",
        observed=f"the route to the head leads over {interface}, which ends inside this machine",
        expected="an interface that other machines are behind",
        source="facts net",
        remedy=sentence("set ", Option.HEAD_ADDRESS, " to an address of the head on a real network"),
    )


def _rail(node: str, interface: str, rail: HcaPort) -> Finding:
    return Finding(
        check="interface",
        node=node,
        status="warn",
        observed=f"the route to the head leads over {interface}, the network device of {rail.label}, "
        "which carries the ranks' RoCE traffic",
        expected="another interface for the ranks' TCP connections, as rails often do not reach each other",
        source="facts net, rdma",
        remedy=sentence("set ", Option.HEAD_ADDRESS, " to the head's address on the nodes' own network"),
    )
