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

ABSENT, JOINED, RUNNING, EMPTY, LOST = "absent", "joined", "running", "empty", "lost"


@dataclasses.dataclass
class Node:
    """What the head knows of a node; rank is its node rank, report its runner's last word on the attempt's end."""

    name: str
    rank: int | None
    place: str = ABSENT
    heard: float = 0.0
    report: dict[str, Any] | None = None


class Seats:
    """All nodes by their numbers, the head first."""

    def __init__(self, names: Sequence[str], nnodes: int) -> None:
        self.nodes = [Node(name, number if number < nnodes else None) for number, name in enumerate(names)]

    def taken(self) -> list[Node]:
        """Return the nodes that have a node rank."""
        return [node for node in self.nodes if node.rank is not None]

    def missing(self) -> list[Node]:
        """Return those of them that have not joined."""
        return [node for node in self.taken() if node.place == ABSENT]

    def all_here(self) -> bool:
        """Say whether every rank's node has joined and waits."""
        return all(node.place == JOINED for node in self.taken())

    def can_replace(self, away: Sequence[Node]) -> bool:
        """Say whether there are spares for these nodes; for the head there is none, its runner is who decides."""
        return len(self._spares()) >= len(away) and self.nodes[0] not in away

    def has_late_spares(self) -> bool:
        """Say whether there is a spare that has not joined."""
        return any(node.rank is None and node.place == ABSENT for node in self.nodes)

    def replace(self, away: Sequence[Node]) -> None:
        """Give the ranks of these nodes to spares."""
        for node, spare in zip(away, self._spares()):
            node.rank, spare.rank = None, node.rank
            if node.place == ABSENT:
                node.place = LOST  # it may come too late

    def _spares(self) -> list[Node]:
        return [node for node in self.nodes if node.rank is None and node.place == JOINED]
