# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head keeps of how attempts ended, and of how nodes did: the first reports of those that did not succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._records.cause import likeliest_first
from ..._records.gang import ABSENT, DRAINED, LOST, RUNNING
from ..._records.run import EndedAttempt, NodeReport
from ..._text.stamps import utc
from .frames import short
from .ranks import GangNode

# In a large cluster the first failures explain the others.
MAX_REPORTS = 32
# The last attempts that are remembered, and the bytes of why one ended.
MAX_ATTEMPTS, MAX_ATTEMPT_BYTES = 32, 300


class Reports:
    """At most one report per node and attempt, in order of arrival."""

    def __init__(self) -> None:
        self._reports: list[dict[str, Any]] = []
        self._ended_attempts: list[dict[str, Any]] = []

    def add(self, node: GangNode, attempt: int, report: dict[str, Any]) -> None:
        """Add a node's report; it replaces the node's earlier report on the same attempt."""
        report = {"node": node.name, "node_rank": node.rank, "attempt": attempt, **report}
        for index, earlier in enumerate(self._reports):
            if (earlier["node"], earlier["attempt"]) == (node.name, attempt):
                self._reports[index] = report
                return
        oldest = next((index for index, earlier in enumerate(self._reports) if earlier["attempt"] < attempt), None)
        if len(self._reports) >= MAX_REPORTS and oldest is not None:
            del self._reports[oldest]
        if len(self._reports) < MAX_REPORTS:
            self._reports.append(report)

    def likeliest_failure(self, attempt: int) -> dict[str, Any] | None:
        """Return the report of the node where an attempt most likely failed first, among equals the first to come."""
        failed = [report for report in self._reports if (report["attempt"], report.get("phase")) == (attempt, "failed")]
        # The clocks of nodes differ: the order of arrival tells more than their times.
        records = [NodeReport.from_dict({**report, "time": index}) for index, report in enumerate(failed)]
        return failed[int(likeliest_first(records)[0].time or 0)] if records else None

    def end_attempt(self, attempt: int, verdict: str, why: str, node: str | None, rank: int | None) -> None:
        """Note how an attempt ended; drop the reports on it, except that of the node where it began to fail."""
        self._reports = [report for report in self._reports if report["attempt"] < attempt or report["node"] == node]
        ended = EndedAttempt(attempt, utc(), verdict, short(why, MAX_ATTEMPT_BYTES), node, rank)
        self._ended_attempts = [*self._ended_attempts, ended.to_dict()][-MAX_ATTEMPTS:]

    def summary(self, nodes: Sequence[GangNode], attempt: int) -> dict[str, Any]:
        """Return the summary of these nodes while the run goes on: counts, and all reports."""
        states = [node.state for node in nodes]
        return {
            "nodes": len(states),
            "joined": len(states) - states.count(ABSENT),
            "started": states.count(RUNNING) + states.count(DRAINED),
            "attempt": attempt,
            "reports": self._reports,
            "ended_attempts": self._ended_attempts,
        }

    def final_summary(self, nodes: Sequence[GangNode], attempt: int, cause: str | None) -> dict[str, Any]:
        """Return the summary with each node's phase (None: never reported); cause: the node that failed first."""
        reports = self._reports
        if cause is not None:  # marked and first: the other reports are its consequences
            origin = (attempt, cause)
            reports = [{**report, "cause": (report["attempt"], report["node"]) == origin} for report in reports]
            reports.sort(key=lambda report: not report["cause"])
        phases = {node.name: _phase(node) for node in nodes}
        return {**self.summary(nodes, attempt), "reports": reports, "phases": phases}


def _phase(node: GangNode) -> str | None:
    if node.state == LOST:
        return "lost"
    phase = (node.report or {}).get("phase")
    return None if phase is None else str(phase)
