# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head keeps of how nodes ended: the first words of those that did not end well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ranks import ABSENT, DRAINED, LOST, RUNNING, GangNode

# Of a large cluster's failures the first ones tell all.
MAX_REPORTS = 32


class Reports:
    """One for each node and attempt, in the order of their coming."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []

    def add(self, node: GangNode, attempt: int, report: dict[str, Any]) -> None:
        """Keep a node's report, in place of what it said of this attempt before."""
        identity = {"node": node.name, "node_rank": node.rank, "attempt": attempt}
        for index, kept in enumerate(self.kept):
            if (kept["node"], kept["attempt"]) == (node.name, attempt):
                self.kept[index] = {**identity, **report}
                return
        older = next((index for index, kept in enumerate(self.kept) if kept["attempt"] < attempt), None)
        if len(self.kept) >= MAX_REPORTS and older is not None:
            del self.kept[older]
        if len(self.kept) < MAX_REPORTS:
            self.kept.append({**identity, **report})

    def drop_all_but_cause(self, attempt: int, node: str | None) -> None:
        """Forget of an attempt that is over all but where it began: the next one may need the room."""
        self.kept = [kept for kept in self.kept if kept["attempt"] < attempt or kept["node"] == node]

    def summary(self, nodes: Sequence[GangNode], attempt: int) -> dict[str, Any]:
        """Return what is told of these nodes while the run goes on: counts, and all reports."""
        states = [node.state for node in nodes]
        return {
            "nodes": len(states),
            "joined": len(states) - states.count(ABSENT),
            "begun": states.count(RUNNING) + states.count(DRAINED),
            "attempt": attempt,
            "reports": self.kept,
        }

    def final_summary(self, nodes: Sequence[GangNode], attempt: int, cause: str | None) -> dict[str, Any]:
        """Return it with each node's phase, None of one that never came; cause is the node where the end began."""
        reports = self.kept if cause is None else self._mark_cause(attempt, cause)
        return {
            **self.summary(nodes, attempt),
            "reports": reports,
            "phases": {node.name: _phase(node) for node in nodes},
        }

    def _mark_cause(self, attempt: int, node: str) -> list[dict[str, Any]]:
        """Return all with a mark, where the run's end began first: what the others tell are its consequences."""
        marked = [{**kept, "cause": (kept["attempt"], kept["node"]) == (attempt, node)} for kept in self.kept]
        return sorted(marked, key=lambda kept: not kept["cause"])


def _phase(node: GangNode) -> str | None:
    if node.state == LOST:
        return "lost"
    phase = (node.report or {}).get("phase")
    return None if phase is None else str(phase)
