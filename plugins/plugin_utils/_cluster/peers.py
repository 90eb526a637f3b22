# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers: what most nodes have, and which nodes differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._text.table import node_names

PeerValue = TypeVar("PeerValue", bound=Hashable)


@frozen
class Usual(Generic[PeerValue]):
    """The value of most nodes; in a tie, that of the first node."""

    value: PeerValue
    nodes: tuple[str, ...]
    odd: tuple[str, ...]

    @property
    def source(self) -> str:
        """Name the nodes that have it."""
        return f"as on {node_names(self.nodes)}"


def usual(values: Mapping[str, PeerValue]) -> Usual[PeerValue] | None:
    """Return what most nodes have; None without any node. The nodes are in the order of their ranks."""
    if not values:
        return None
    # Counter keeps the order of insertion: in a tie, the first node's value is the most common one.
    value = Counter(values.values()).most_common(1)[0][0]
    alike = tuple(node for node in values if values[node] == value)
    return Usual(value, alike, tuple(node for node in values if node not in alike))
