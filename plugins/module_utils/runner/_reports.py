# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head keeps of how nodes ended: the first words of those that did not end well."""

from __future__ import annotations

from typing import Any

from ._seats import Node

# Of a large cluster's failures the first ones tell all.
KEPT_REPORTS = 32


class Reports:
    """One for each node and attempt, in the order of their coming."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []

    def keep(self, node: Node, attempt: int, report: dict[str, Any]) -> None:
        """Keep a node's report, in place of what it said of this attempt before."""
        own = {"node": node.name, "node_rank": node.rank, "attempt": attempt}
        for index, kept in enumerate(self.kept):
            if (kept["node"], kept["attempt"]) == (node.name, attempt):
                self.kept[index] = {**own, **report}
                return
        older = next((index for index, kept in enumerate(self.kept) if kept["attempt"] < attempt), None)
        if len(self.kept) >= KEPT_REPORTS and older is not None:
            del self.kept[older]
        if len(self.kept) < KEPT_REPORTS:
            self.kept.append({**own, **report})

    def leave_the_cause(self, attempt: int, node: str | None) -> None:
        """Forget of an attempt that is over all but where it began: the next one may need the room."""
        self.kept = [kept for kept in self.kept if kept["attempt"] < attempt or kept["node"] == node]

    def with_cause(self, attempt: int, node: str | None) -> list[dict[str, Any]]:
        """Return all with a mark, where the run's end began first: what the others tell are its consequences."""
        marked = [{**kept, "cause": (kept["attempt"], kept["node"]) == (attempt, node)} for kept in self.kept]
        return sorted(marked, key=lambda kept: not kept["cause"])
