# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine a node is on: two names for one machine, and nodes that share a network stack.

Functions take the facts by node, in node-rank order.
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import Net, NodeFacts

FactsByNode = Mapping[str, NodeFacts]


def machine(node: str, facts: NodeFacts) -> tuple[str | None, str | None]:
    """Identify the machine of a node: equal values mean one machine. Without a boot ID a node counts as a machine."""
    return (facts.machine_id, facts.boot_id) if facts.boot_id else (None, node)


def cpus_of(node: str, facts: NodeFacts) -> tuple[str | None, str | None]:
    """Identify the CPUs of a node: its machine's, or those that a limit gives to its container alone."""
    limited = facts.cpu_limit is not None and facts.container is not None and facts.container.kind is not None
    return (None, node) if limited else machine(node, facts)


def share_network(facts: FactsByNode) -> bool:
    """Return whether all nodes share a network stack: those of containers on one machine are different namespaces."""
    return len({(machine(name, node), _network(node.net)) for name, node in facts.items()}) == 1


def _network(net: Net | None) -> str | frozenset[str] | None:
    """Return what identifies a network stack on its machine: its addresses may change from one reading to the next."""
    if net is None:
        return None
    return net.namespace or frozenset(address.address for address in net.addresses)


def shared_workdirs(facts: FactsByNode) -> dict[str, str]:
    """Map each node that is a second name for an earlier one to that: same machine, same work directory."""
    first: dict[str, str] = {}
    same = {}
    for name, node_facts in facts.items():
        identity = node_facts.workdir.identity
        other = first.setdefault(identity, name) if identity is not None else name
        if other != name:
            same[name] = other
    return same
