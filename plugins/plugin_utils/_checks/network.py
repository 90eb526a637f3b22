# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes reach each other?"""

from __future__ import annotations

import ipaddress
import re

from .._cluster import head_address, ports
from .._cluster.machines import share_network
from .._cluster.node import Node
from .model import Cluster, Looks, Seen, completed, fine, seen_of, skip, unknown

VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
HEAD_ONLY = "only the head has it"
# An interface in one of these states carries traffic; lo and tunnels are unknown.
UP = ("up", "unknown")
_BRIDGE = re.compile(r"lo|docker.*|br-.*|virbr.*|veth.*|cni.*|flannel.*")


def port(cluster: Cluster) -> Looks:
    """Find out whether the head has a free port for the ranks to meet."""
    head, launch = next(iter(cluster.nodes.values()), None), cluster.launch
    if head is None:
        return []
    if head.facts.net is None:
        return [(head.name, unknown("nobody could see who listens", "net"))]
    picked, found = ports.pick(
        launch.port,
        launch.port_origin,
        cluster.policy.port_range,
        launch.nonce,
        head.name,
        head.facts.net,
        launch.restarts,
    )

    def well(node: Node) -> Seen:
        return fine(f"{picked.number}: {picked.reason}", "facts net") if node is head else skip(HEAD_ONLY)

    return completed(cluster, [(each.node, seen_of(each)) for each in found], well)


def rendezvous(cluster: Cluster) -> Looks:
    """Find an address of the head that others than the nodes reach: where ranks meet, whoever connects is obeyed."""
    head = next(iter(cluster.nodes.values()), None)
    if head is None:
        return []
    return completed(cluster, [(head.name, _meeting_place(head, cluster))], lambda node: skip(HEAD_ONLY))


def _meeting_place(head: Node, cluster: Cluster) -> Seen:
    if head.facts.net is None:
        return unknown("nobody could see the addresses", "net")
    together = share_network(cluster.facts)
    asked = cluster.policy.head_address
    chosen, _found = head_address.choose_address(head.name, asked, head.address, head.facts.net, together)
    told = (cluster.facts[head.name].names or {}).get(chosen.value)
    addresses = [chosen.value] if head_address.is_address(chosen.value) else told.addresses if told else []
    public = [text for text in addresses if head_address.is_address(text) and ipaddress.ip_address(text).is_global]
    wild = [text for text in addresses if head_address.is_address(text) and ipaddress.ip_address(text).is_unspecified]
    if wild:
        return Seen(
            "fail",
            f"{wild[0]} stands for every address, and for none that another node could connect to ({chosen.reason})",
            "one address of the head",
            "RFC 1122 3.2.1.3",
            "set launch_head_address to the head's address in the cluster's own network, or leave it out",
        )
    if public:
        return Seen(
            "warn",
            f"{public[0]} is a public address ({chosen.reason})",
            "an address of the cluster's own network: whoever reaches the ranks' ports can run code in them",
            "PyTorch SECURITY.md: TCPStore has neither authentication nor encryption",
            "set launch_head_address to a private address of the head; or let a firewall pass only the nodes to "
            "launch_port_range",
        )
    if not addresses:
        return skip(f"what {chosen.value or 'the head'} stands for is not known here")
    return fine(f"{', '.join(addresses)}: {chosen.reason}", "facts net")


def reach(node: Node, cluster: Cluster) -> Seen:
    """Find nodes that do not reach the head; a port that refuses is reached."""
    asked = node.facts.reach
    if asked is None:
        return unknown("nobody tried to reach the head", "reach")
    if not asked:
        return skip("no address to reach was given")
    lost = [each for each in asked if each.result not in ("connected", "refused")]
    if not lost:
        return fine(", ".join(f"{each.address}:{each.port} {each.result}" for each in asked), "a TCP connection")
    return Seen(
        "fail",
        "; ".join(
            f"{each.address}:{each.port} {each.result}{f' ({each.error})' if each.error else ''}" for each in lost
        ),
        "connected, or refused by a head where nobody listens",
        "a TCP connection",
        "look at firewall and routes between the two; ranks need the whole range of ports open among the nodes",
    )


def socket_interface(node: Node, cluster: Cluster) -> Seen:
    """Find interfaces that the inventory names and that are down or lead nowhere; the rules find those not there."""
    environment = cluster.environment(node)
    given = {name: str(environment[name]) for name in VARIABLES if environment.get(name)}
    if not given:
        return skip("the inventory names no interface; the launch chooses the one towards the head")
    known = node.facts.interfaces
    if known is None:
        return unknown("nobody could look at the interfaces", "interfaces")
    faults, good = [], []
    for variable, text in given.items():
        if text.startswith("^"):
            continue
        exact = text.startswith("=") or variable == "GLOO_SOCKET_IFNAME"
        words = [word for word in text.lstrip("=").split(",") if word]
        own = [name for name in known if any(name == word or (not exact and name.startswith(word)) for word in words)]
        up = [name for name in own if known[name].state in UP]
        bridges = [name for name in own if _BRIDGE.fullmatch(name)]
        if own and not up:
            faults.append(f"{variable}={text}: {', '.join(own)} is {known[own[0]].state}")
        elif bridges and cluster.fabric is not None and len(cluster.nodes) > 1:
            faults.append(f"{variable}={text}: {', '.join(bridges)} does not leave the machine")
        good += up
    if faults:
        remedy = "correct it in launch_env or launch_node_env, or leave it out: the launch chooses"
        return Seen(
            "fail",
            "; ".join(faults),
            "an interface of the node that is up and reaches the others",
            "launch_env, launch_node_env",
            remedy,
        )
    return fine(", ".join(dict.fromkeys(good)) or ", ".join(given.values()), "facts interfaces")
