# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver: the environment for NCCL and RCCL from all nodes' facts.

It sets only what the library cannot determine better on its own, and gives the reason for what it does not set. Pure:
facts and policy in, variables and findings out. Each rule of the decision table (docs/environment.md) is a file: D1
`transport`, D2 `hcas`, D3 `gid`, D4 `sockets`, D6 `tuning`, D8 `topology`, the defaults that are kept `defaults`;
`agreement` checks that the nodes can work together.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import agreement, gid, hcas, sockets, topology, transport
from .defaults import kept_defaults
from .library import Library
from .ports import usable
from .view import FabricPolicy, NodeEnvironment, NodeView, NotSet, Resolution

__all__ = ["FabricPolicy", "Library", "NodeEnvironment", "NodeView", "NotSet", "Resolution", "resolve"]


def resolve(nodes: Sequence[NodeView], policy: FabricPolicy) -> Resolution:
    """Decide the fabric for all nodes together, and each node's variables."""
    fabric, findings = transport.decide(nodes, policy)
    findings += agreement.libraries(nodes)
    rdma = fabric.value == "rdma"
    choices = {node.name: hcas.choose(node) if rdma else hcas.HcaChoice([], [], []) for node in nodes}
    findings += [finding for choice in choices.values() for finding in choice.findings]
    findings += [*agreement.ports(choices), *agreement.families(nodes, choices)]
    on_ports = gid.count_ports({node.name: (node, choices[node.name].ports) for node in nodes})
    any_efa = transport.has_efa(nodes)
    resolved = {}
    for node in nodes:
        choice = choices[node.name]
        gids = gid.resolve(node, choice.ports, on_ports)
        socket_variables, no_sockets, socket_findings = sockets.resolve(node, choice.ports, not rdma and len(nodes) > 1)
        transport_variables, no_transport = transport.variables(node, any_efa, fabric, policy)
        hca_variables, no_hcas = hcas.variables(node, choice)
        topology_variables, no_topology, topology_findings = topology.resolve(node, choice)
        not_set = [*no_transport, *no_hcas, *gids.not_set, *no_sockets, *no_topology, *kept_defaults(node, choice)]
        resolved[node.name] = NodeEnvironment(
            variables=sorted(
                [*transport_variables, *hca_variables, *gids.variables, *socket_variables, *topology_variables],
                key=lambda item: item.name,
            ),
            not_set=[item for item in not_set if _is_relevant(node, item)],
            hcas=choice.hcas,
            gids=gids.indexes,
            networks=gids.networks or gid.link_networks(node, choice.ports or usable(node.rdma), on_ports),
        )
        findings += [*gids.findings, *socket_findings, *topology_findings]
    return Resolution(fabric, resolved, findings)


def _is_relevant(node: NodeView, item: NotSet) -> bool:
    """Without GPUs there is no NCCL, only Gloo's sockets; what users set is not left out."""
    return item.name not in node.user_values and (node.has_gpus or item.rule == sockets.RULE)
