# SPDX-License-Identifier: GPL-3.0-or-later
"""Which node has which node rank: the run's nodes, and the spares that take the rank of an absent or lost node.

A node is identified by its number. The first `nnodes` nodes start with their number as node rank; the nodes after them
are spares and have no rank. A node that is not replaced keeps its rank.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..._records.gang import ABSENT, DRAINED, JOINED, LOST


@dataclasses.dataclass
class GangNode:
    """What the head knows of a node: its node rank (None: a spare) and how its part of the last attempt ended."""

    name: str
    rank: int | None
    state: str = ABSENT
    last_heard: float = 0.0
    report: dict[str, Any] | None = None


class RankAssignment:
    """All nodes by number, the head first."""

    def __init__(self, names: Sequence[str], nnodes: int) -> None:
        self.nodes = [GangNode(name, number if number < nnodes else None) for number, name in enumerate(names)]
        self.replaced: dict[str, str] = {}  # by node: the spare that has taken its rank

    def ranked_nodes(self) -> list[GangNode]:
        """Return the nodes that have a node rank."""
        return [node for node in self.nodes if node.rank is not None]

    def missing_nodes(self) -> list[GangNode]:
        """Return the nodes that have a node rank and have not joined."""
        return [node for node in self.ranked_nodes() if node.state == ABSENT]

    def all_joined(self) -> bool:
        """Return whether every node with a rank has joined and waits."""
        return all(node.state == JOINED for node in self.ranked_nodes())

    def all_over(self) -> bool:
        """Return whether no node with a rank has anything left of the attempt, or can still be asked."""
        return all(node.state in (DRAINED, LOST) for node in self.ranked_nodes())

    def can_replace(self, nodes: Sequence[GangNode]) -> bool:
        """Return whether there are enough spares for these nodes; the head cannot be replaced: its runner decides."""
        return len(self._spares()) >= len(nodes) and self.nodes[0] not in nodes

    def has_absent_spares(self) -> bool:
        return any(node.rank is None and node.state == ABSENT for node in self.nodes)

    def replace(self, nodes: Sequence[GangNode]) -> None:
        """Give the ranks of these nodes to spares."""
        for node, spare in zip(nodes, self._spares()):
            node.rank, spare.rank = None, node.rank
            self.replaced[node.name] = spare.name
            if node.state == ABSENT:
                node.state = LOST  # it may join too late

    def _spares(self) -> list[GangNode]:
        return [node for node in self.nodes if node.rank is None and node.state == JOINED]
