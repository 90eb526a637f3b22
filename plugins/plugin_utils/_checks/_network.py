# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the nodes reach each other? (`_checks/` is private to the collection.)"""

from __future__ import annotations

import re

from ansible_collections.muster.train.plugins.plugin_utils import _ports
from ansible_collections.muster.train.plugins.plugin_utils._checks._model import (
    Cluster,
    Node,
    Seen,
    completed,
    finding,
    fine,
    skip,
    unknown,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding

VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
# An interface in one of these states carries traffic; lo and tunnels are unknown.
UP = ("up", "unknown")
_BRIDGE = re.compile(r"lo|docker.*|br-.*|virbr.*|veth.*|cni.*|flannel.*")


def port(cluster: Cluster) -> list[Finding]:
    """Find out whether the head has a free port for the ranks to meet."""
    head = next(iter(cluster.nodes.values()), None)
    asked = cluster.launch
    if head is None:
        return []
    if head.facts.net is None:
        return [finding("port", head.name, unknown("nobody could see who listens", "net"))]
    picked, found = _ports.pick(asked.port, asked.port_origin, asked.port_range, "0", head.name, head.facts.net)

    def well(node: Node) -> Seen:
        return fine(f"{picked.number}: {picked.reason}", "facts net") if node is head else skip("only the head has it")

    return completed("port", cluster, found, well)


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
    given = {name: str(node.env[name]) for name in VARIABLES if node.env.get(name)}
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
