# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what should be the same on all nodes with the inventory's profile, or else with the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._cluster.node import Node
from .._cluster.peers import usual
from .._findings.remedy import SAME_STATE, Remedy
from .._nccl.ports import HcaPort, usable
from .model import Cluster, Outcome, Outcomes, failed, passed, skipped, unavailable
from .policy import PROFILE, Level

UNKNOWN = "not known"


@frozen
class Property:
    """Something that nodes should have in common: one check, and one row of the table of differences.

    of returns a text, "" where the property does not apply to the node, None where it could not be read.
    """

    name: str
    subset: str
    of: Callable[[Node, Cluster], str | None]
    description: str = ""
    remedy: Remedy | str = SAME_STATE
    level: Level = "fail"

    @property
    def key(self) -> str:
        """The property's key in preflight_expected."""
        return "gpus" if self.name == "gpu count" else self.name.replace(" ", "_")

    def values(self, cluster: Cluster) -> dict[str, str | None]:
        return {name: self.of(node, cluster) for name, node in cluster.nodes.items()}

    def compare(self, cluster: Cluster) -> Outcomes:
        """Compare the nodes with the profile, else with the peers."""
        remedy = cluster.launch.invocation.fill(self.remedy)
        values = self.values(cluster)
        profile = cluster.checks.expected.get(self.key)
        peers = usual({name: value for name, value in values.items() if value})
        for name, value in values.items():
            if value is None:
                outcome = unavailable(f"{self.name} could not be read", self.subset)
            elif not value:
                outcome = skipped("does not apply here")
            elif profile is not None:
                outcome = self._against_profile(value, profile, remedy)
            elif peers is not None and name in peers.odd:
                outcome = failed(value, peers.value, f"peers: {peers.source}", remedy)
            else:
                others = len(peers.nodes) - 1 if peers else 0
                outcome = passed(value, f"peers: {others} have the same" if others else "no peer to compare with")
            yield name, outcome

    def _against_profile(self, value: str, profile: Any, remedy: Remedy | str) -> Outcome:
        allowed = [str(item) for item in profile] if isinstance(profile, list) else [str(profile)]
        expected, source = " or ".join(allowed), f"{PROFILE}.{self.key}"
        return passed(value, source, expected) if value in allowed else failed(value, expected, source, remedy)


@frozen
class Row:
    """A row of the table: a property, its value on most nodes, those nodes, and the values of the others."""

    name: str
    value: str
    nodes: tuple[str, ...]
    odd: dict[str, str]

    @classmethod
    def of(cls, name: str, values: Mapping[str, str | None]) -> Row | None:
        """Return the row; None where no node has a value. A value that could not be read is a difference."""
        peers = usual({node: value for node, value in values.items() if value})
        if peers is None:
            return None
        shown = {node: UNKNOWN if value is None else value for node, value in values.items() if value != ""}
        return cls(name, peers.value, peers.nodes, {node: text for node, text in shown.items() if text != peers.value})

    def to_dict(self) -> dict[str, Any]:
        return {"property": self.name, "majority": self.value, "nodes": list(self.nodes), "odd": self.odd}


def joined(values: Iterable[str | None]) -> str:
    """Join the distinct values in natural order."""
    return ", ".join(sorted({value for value in values if value}, key=natural))


def ranks_ports(node: Node, cluster: Cluster) -> list[HcaPort]:
    """Return the ports that the ranks would use: those that the rules chose, or else all that are usable."""
    chosen = set(cluster.chosen.get(node.name, ()))
    return [port for port in usable(node.rdma) if not chosen or port.hca.name in chosen]


def ranks_hcas(node: Node, cluster: Cluster) -> list[Hca]:
    """Return the adapters of these ports, without duplicates."""
    return list({port.hca.name: port.hca for port in ranks_ports(node, cluster)}.values())
