# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a property of all nodes with the inventory's profile where it says something, else with the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._cluster.node import Node
from .._cluster.peers import usual
from .._nccl.ports import HcaPort, usable
from .model import PROFILE, Cluster, Level, Looks, Seen, fine, skip, unknown


@dataclass(frozen=True)
class Property:
    """Something nodes have in common: its name, facts' part, key in the profile, and how to mend what differs.

    of returns a text, "" where it does not apply to the node, None where nobody could look.
    """

    name: str
    part: str
    key: str
    remedy: str
    of: Callable[[Node, Cluster], str | None]
    description: str = ""
    level: Level = "fail"


def compare(cluster: Cluster, each: Property) -> Looks:
    """Compare a property of all nodes with the profile, else with the peers."""
    values = {name: each.of(node, cluster) for name, node in cluster.nodes.items()}
    told = {name: value for name, value in values.items() if value}
    profile = cluster.expected.get(each.key)
    peers = usual(told)
    for name, value in values.items():
        if value is None:
            seen = unknown(f"{each.name} cannot be told", each.part)
        elif not value:
            seen = skip("does not apply here")
        elif profile is not None:
            seen = _of_profile(each, value, profile)
        elif peers is not None and name in peers.odd:
            seen = Seen("fail", value, peers.value, f"peers: {peers.source}", each.remedy)
        else:
            others = len(peers.nodes) - 1 if peers else 0
            seen = fine(value, f"peers: {others} alike" if others else "no peer to compare with")
        yield name, seen


def _of_profile(each: Property, value: str, profile: Any) -> Seen:
    wanted = [str(item) for item in profile] if isinstance(profile, list) else [str(profile)]
    source = f"{PROFILE}.{each.key}"
    if value in wanted:
        return fine(value, source, " or ".join(wanted))
    return Seen("fail", value, " or ".join(wanted), source, each.remedy)


def joined(values: Iterable[str | None]) -> str:
    """Name different values once each, in natural order."""
    return ", ".join(sorted({value for value in values if value}, key=natural))


def ranks_ports(node: Node, cluster: Cluster) -> list[HcaPort]:
    """Return the ports that the ranks would use: as the rules chose, else all that are usable."""
    chosen = set(cluster.chosen.get(node.name, ()))
    ports = usable(node.rdma)
    return [each for each in ports if each.hca.name in chosen] if chosen else ports


def ranks_hcas(node: Node, cluster: Cluster) -> list[Hca]:
    """Return the adapters of these ports, each once."""
    return list({each.hca.name: each.hca for each in ranks_ports(node, cluster)}.values())
