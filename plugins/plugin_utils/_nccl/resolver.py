# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver: NCCL's and RCCL's environment from all nodes' facts.

It sets only what the library cannot find out better by itself, and says of the rest why not. Pure: facts and policy in,
variables and findings out. Each rule of the decision table (docs/environment.md) is a file of its own:
D1 `_nccl_transport`, D2 `_nccl_hcas` and `_nccl_alike`, D3 `_nccl_gid`, D4 `_nccl_sockets`, D6 `_nccl_tuning`, what is
left alone `_nccl_left`; `_nccl_libraries` looks whether the ranks can meet at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._findings.finding import Finding
from .._text.table import names
from . import compatible_ports, gid, libraries, unset
from .hcas import Choice, variables
from .hcas import choose as choose_hcas
from .library import Library
from .ports import ETHERNET
from .sockets import RULE
from .sockets import resolve as resolve_sockets
from .transport import decide as decide_transport
from .transport import has_efa
from .transport import variables as transport_variables
from .view import FabricPolicy, NodeEnvironment, NodeView, NotSet, Resolution

__all__ = ["FabricPolicy", "Library", "NodeEnvironment", "NodeView", "NotSet", "Resolution", "resolve"]


def resolve(nodes: Sequence[NodeView], policy: FabricPolicy) -> Resolution:
    """Decide the fabric for all nodes together, and each node's variables."""
    fabric, findings = decide_transport(nodes, policy)
    findings += libraries.compare(nodes)
    choices = {node.name: _choice(node, fabric.value) for node in nodes}
    for choice in choices.values():
        findings += choice.findings
    findings += compatible_ports.compare(choices)
    findings += _one_family(nodes, choices)
    on_ports = gid.networks({node.name: (node, choices[node.name].ports) for node in nodes})
    any_efa = has_efa(nodes)
    resolved = {}
    for node in nodes:
        choice = choices[node.name]
        gids = gid.resolve(node, choice.ports, on_ports)
        sockets, no_sockets, of_sockets = resolve_sockets(node, choice.ports)
        transport, no_transport = transport_variables(node, any_efa, fabric, policy)
        hcas, no_hcas = variables(node, choice)
        not_set = [*no_transport, *no_hcas, *gids.not_set, *no_sockets, *unset.left_to_nccl(node, choice)]
        resolved[node.name] = NodeEnvironment(
            variables=sorted([*transport, *hcas, *gids.variables, *sockets], key=lambda variable: variable.name),
            not_set=[each for each in not_set if _concerns(node, each)],
            hcas=choice.hcas,
            gids=gids.indexes,
        )
        findings += [*gids.findings, *of_sockets]
    return Resolution(fabric, resolved, findings)


def _concerns(node: NodeView, left: NotSet) -> bool:
    """Without GPUs there is no NCCL, only Gloo's sockets; what users set is not left out."""
    return left.name not in node.given and (node.has_gpus or left.rule == RULE)


def _choice(node: NodeView, fabric: str) -> Choice:
    return choose_hcas(node) if fabric == "rdma" else Choice([], [], [])


def _one_family(nodes: Sequence[NodeView], choices: Mapping[str, Choice]) -> list[Finding]:
    """Find nodes whose RoCE GIDs are of another address family than the others': they cannot reach each other."""
    families = {
        node.name: family
        for node in nodes
        if any(each.port.link_layer == ETHERNET and each.port.gids for each in choices[node.name].ports)
        and (family := gid.family_of(node, choices[node.name].ports)) is not None
    }
    if len(set(families.values())) < 2:
        return []
    old = [node for node, family in families.items() if family == 4]
    return [
        Finding(
            check="gid",
            node=node,
            status="fail",
            observed="its RoCE v2 GIDs are IPv6 only",
            expected=f"IPv4, as on {names(old)}",
            source="facts rdma",
            remedy="give the ports' network devices IPv4 addresses, or take the node out of the group nodes",
        )
        for node, family in families.items()
        if family == 6
    ]
