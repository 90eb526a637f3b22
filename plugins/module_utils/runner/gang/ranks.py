# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has which node rank: the run's nodes, and the spares that take the rank of one that did not come or is lost.

A node is known by its number. The first ones begin with the node rank of their number, those behind them are spares and
have none. Whoever is not replaced keeps its rank.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

ABSENT, JOINED, RUNNING, DRAINED, LOST = "absent", "joined", "running", "drained", "lost"


@dataclasses.dataclass
class GangNode:
    """What the head knows of a node; rank is its node rank, report its runner's last word on the attempt's end."""

    name: str
    rank: int | None
    state: str = ABSENT
    last_heard: float = 0.0
    report: dict[str, Any] | None = None


class RankAssignment:
    """All nodes by their numbers, the head first."""

    def __init__(self, names: Sequence[str], nnodes: int) -> None:
        self.nodes = [GangNode(name, number if number < nnodes else None) for number, name in enumerate(names)]

    def ranked_nodes(self) -> list[GangNode]:
        """Return the nodes that have a node rank."""
        return [node for node in self.nodes if node.rank is not None]

    def missing_nodes(self) -> list[GangNode]:
        """Return those of them that have not joined."""
        return [node for node in self.ranked_nodes() if node.state == ABSENT]

    def all_joined(self) -> bool:
        """Say whether every rank's node has joined and waits."""
        return all(node.state == JOINED for node in self.ranked_nodes())

    def can_replace(self, nodes: Sequence[GangNode]) -> bool:
        """Say whether there are spares for these nodes; for the head there is none, its runner is who decides."""
        return len(self._spares()) >= len(nodes) and self.nodes[0] not in nodes

    def has_absent_spares(self) -> bool:
        """Say whether there is a spare that has not joined."""
        return any(node.rank is None and node.state == ABSENT for node in self.nodes)

    def replace(self, nodes: Sequence[GangNode]) -> None:
        """Give the ranks of these nodes to spares."""
        for node, spare in zip(nodes, self._spares()):
            node.rank, spare.rank = None, node.rank
            if node.state == ABSENT:
                node.state = LOST  # it may come too late

    def _spares(self) -> list[GangNode]:
        return [node for node in self.nodes if node.rank is None and node.state == JOINED]
