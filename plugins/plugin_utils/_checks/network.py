# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes reach each other?"""

from __future__ import annotations

import ipaddress
import re

from .._cluster import ports
from .._cluster.address import is_address
from .._cluster.head_name import decide_address
from .._cluster.node import Node
from .model import Cluster, Outcome, Outcomes, completed, failed, passed, skipped, unavailable

VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
HEAD_ONLY = "only the head has it"
# An interface in one of these states carries traffic; lo and tunnels are unknown.
UP = ("up", "unknown")
_BRIDGE = re.compile(r"lo|docker.*|br-.*|virbr.*|veth.*|cni.*|flannel.*")


def port(cluster: Cluster) -> Outcomes:
    """Check that the head has a free port where the ranks can meet."""
    head, launch = next(iter(cluster.nodes.values()), None), cluster.launch
    if head is None:
        return []
    net, port_range = head.facts.net, cluster.policy.port_range
    if net is None:
        return [(head.name, unavailable("the ports in use could not be read", "net"))]
    choice, findings = ports.pick(
        launch.port, launch.port_origin, port_range, launch.nonce, head.name, net, launch.restarts
    )

    def otherwise(node: Node) -> Outcome:
        return passed(f"{choice.number}: {choice.reason}", "facts net") if node is head else skipped(HEAD_ONLY)

    return completed(cluster, [(finding.node, Outcome.of(finding)) for finding in findings], otherwise)


def rendezvous(cluster: Cluster) -> Outcomes:
    """Find an address of the head that hosts outside the cluster reach: ranks obey any host that connects."""
    head = next(iter(cluster.nodes.values()), None)
    if head is None:
        return []
    return completed(cluster, [(head.name, _rendezvous(head, cluster))], lambda _: skipped(HEAD_ONLY))


def _rendezvous(head: Node, cluster: Cluster) -> Outcome:
    if head.facts.net is None:
        return unavailable("the addresses could not be read", "net")
    choice, _findings = decide_address(cluster.facts, cluster.policy.head_address, head.address)
    resolution = (head.facts.names or {}).get(choice.value)
    literal = is_address(choice.value)
    texts = [choice.value] if literal else resolution.addresses if resolution else []
    addresses = [ipaddress.ip_address(text) for text in texts if is_address(text)]
    if wildcard := next((address for address in addresses if address.is_unspecified), None):
        return failed(
            f"{wildcard} means every address of a host, and no other node can connect to it ({choice.reason})",
            "one address of the head",
            "RFC 1122 3.2.1.3",
            "set launch_head_address to the head's address in the cluster's own network, or leave it out",
        )
    if public := next((address for address in addresses if address.is_global), None):
        return Outcome(
            "warn",
            f"{public} is a public address ({choice.reason})",
            "an address of the cluster's own network: any host that reaches the ranks' ports can run code in them",
            "PyTorch SECURITY.md: TCPStore has neither authentication nor encryption",
            "set launch_head_address to a private address of the head; or let a firewall pass only the nodes to "
            "launch_port_range",
        )
    if not texts:
        return skipped(f"the address of {choice.value or 'the head'} is not known here")
    return passed(f"{', '.join(texts)}: {choice.reason}", "facts net")


def socket_interface(node: Node, cluster: Cluster) -> Outcome:
    """Find interfaces that the inventory names and that are down or lead nowhere; the rules find missing ones."""
    environment = cluster.environment(node)
    settings = {name: str(environment[name]) for name in VARIABLES if environment.get(name)}
    if not settings:
        return skipped("the inventory names no interface; the launch chooses the one towards the head")
    interfaces = node.facts.interfaces
    if interfaces is None:
        return unavailable("the interfaces could not be read", "interfaces")
    faults: list[str] = []
    good: list[str] = []
    for variable, text in settings.items():
        if text.startswith("^"):
            continue
        exact = text.startswith("=") or variable == "GLOO_SOCKET_IFNAME"
        words = tuple(word for word in text.lstrip("=").split(",") if word)
        matches = [name for name in interfaces if (name in words if exact else name.startswith(words))]
        up = [name for name in matches if interfaces[name].state in UP]
        bridges = [name for name in matches if _BRIDGE.fullmatch(name)]
        if matches and not up:
            faults.append(f"{variable}={text}: {', '.join(matches)} is {interfaces[matches[0]].state}")
        elif bridges and cluster.fabric is not None and len(cluster.nodes) > 1:
            faults.append(f"{variable}={text}: {', '.join(bridges)} does not leave the machine")
        good += up
    if faults:
        expected, source = "an interface of the node that is up and reaches the others", "launch_env, launch_node_env"
        remedy = "correct it in launch_env or launch_node_env, or leave it out: the launch chooses"
        return failed("; ".join(faults), expected, source, remedy)
    return passed(", ".join(dict.fromkeys(good)) or ", ".join(settings.values()), "facts interfaces")
