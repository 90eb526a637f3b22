# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In what nodes differ from most of them: one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._cluster.peers import usual
from .._findings.finding import Finding
from .code import changes
from .model import Cluster
from .properties import MEMLOCK, PROPERTIES

UNKNOWN = "not known"


@dataclass(frozen=True)
class Row:
    """A property: what most nodes have, which these are, and what the others have."""

    name: str
    value: str
    nodes: tuple[str, ...]
    odd: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return {"property": self.name, "majority": self.value, "nodes": list(self.nodes), "odd": self.odd}


def rows(cluster: Cluster, clock: list[Finding]) -> list[Row]:
    """Return a row for each property that any node has; clock are the findings of the check of that name."""
    columns: dict[str, dict[str, str | None]] = {
        each.name: {name: each.of(node, cluster) for name, node in cluster.nodes.items()}
        for each in (*PROPERTIES, MEMLOCK)
    }
    codes = {name: node.facts.code for name, node in cluster.nodes.items()}
    columns["commit"] = {name: code.commit[:12] if code and code.commit else "" for name, code in codes.items()}
    columns["branch"] = {name: (code.branch or "") if code else "" for name, code in codes.items()}
    columns["changes"] = {name: changes(code) if code and code.commit else "" for name, code in codes.items()}
    words = {"pass": "right", "error": None}
    columns["clock"] = {each.node: words.get(each.status, each.observed) for each in clock if each.node is not None}
    return [row for name, values in columns.items() if (row := _row(name, values))]


def _row(name: str, values: dict[str, str | None]) -> Row | None:
    shown = {node: UNKNOWN if value is None else value for node, value in values.items() if value != ""}
    if not shown:
        return None
    told = {node: value for node, value in shown.items() if value != UNKNOWN}
    # What nobody knows is no agreement.
    peers = usual(told)
    if peers is None:
        return None
    odd = {node: value for node, value in shown.items() if value != peers.value}
    return Row(name, peers.value, peers.nodes, odd)
