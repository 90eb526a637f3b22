# SPDX-License-Identifier: GPL-3.0-or-later
"""The restart policy: whether a run is started again, when, and which nodes spares replace."""

from __future__ import annotations

import math

from ..._records.frozen import frozen
from ..._records.gang import LOST
from .base import heartbeat_s
from .ranks import GangNode, RankAssignment

# The run ends after so many attempts in a row without a new step or a checkpoint.
IDLE_ATTEMPTS = 2
# An attempt that lasted this long did not crash at the start, whatever it wrote.
LONG_S = 3600.0
# The ticks of two runners, and the time the kernel needs to kill a process.
SLACK_S = 1.0


@frozen
class Limits:
    """The run's time limits in seconds (lost_after 0: a silent node is never lost) and its number of restarts."""

    join_timeout: float
    lost_after: float
    abort_grace: float
    max_restarts: int


class RestartPolicy:
    """The limits, and how far the attempts have come."""

    def __init__(self, ranks: RankAssignment, limits: Limits) -> None:
        self._ranks = ranks
        self._limits = limits
        self._best_step = -1
        self._idle_attempts = 0

    def exhausted_reason(self, attempt: int) -> str | None:
        """Return why there can be no attempt after this one, None where there can, with spares for lost nodes."""
        if attempt >= self._limits.max_restarts:
            return f"restarted {attempt} time{'s' * (attempt != 1)}, the maximum"
        nodes = self._unavailable_nodes()
        if not self._limits.lost_after and any(node.state == LOST for node in nodes):
            return f"not restarted: {nodes[0].name} may still be running on its own"
        return None if self._ranks.can_replace(nodes) else f"not restarted: no spare left for {nodes[0].name}"

    def earliest_restart(self) -> float:
        """Return when nodes that were cut off have noticed it and stopped their ranks, so that no two write at once.

        Such a node counts from what it sent, so it notices as early as the head, or a heartbeat later after a pause.
        """
        nodes = self._ranks.ranked_nodes()
        times = [node.last_heard for node in nodes if node.state == LOST]
        notice_s = self._limits.lost_after + heartbeat_s(len(nodes), self._limits.lost_after) + SLACK_S
        return max(times, default=-math.inf) + notice_s + self._limits.abort_grace

    def awaits_storage(self) -> bool:
        """Return whether a node still waits for its storage; it reports again when that answers, or gives it up."""
        unavailable = self._unavailable_nodes()
        nodes = [node for node in self._ranks.ranked_nodes() if node not in unavailable]
        return any((node.report or {}).get("stalled") for node in nodes)

    def record_attempt(self, seconds: float) -> str | None:
        """Count the attempt that just ended, which lasted so many seconds.

        Return why there is no next one if too many made no progress.
        """
        reports = [node.report or {} for node in self._ranks.ranked_nodes()]
        step = max((int(report.get("step") or 0) for report in reports), default=0)
        saved = any(report.get("saved") for report in reports)
        progressed = step > self._best_step or saved or seconds >= LONG_S
        self._idle_attempts = 0 if progressed else self._idle_attempts + 1
        self._best_step = max(step, self._best_step)
        why = f"{self._idle_attempts} attempts in a row completed no new step and saved no checkpoint"
        return why if self._idle_attempts >= IDLE_ATTEMPTS else None

    def replace_unavailable_nodes(self) -> None:
        """Give the ranks of nodes that are lost or stuck to spares."""
        self._ranks.replace(self._unavailable_nodes())

    def _unavailable_nodes(self) -> list[GangNode]:
        """Return the nodes that cannot take part in another attempt: lost, or stuck on a process or their storage."""
        return [node for node in self._ranks.ranked_nodes() if node.state == LOST or (node.report or {}).get("stuck")]
