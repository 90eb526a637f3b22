# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run is started again, when, and with whom in the place of a node that is away."""

from __future__ import annotations

import math

from .base import heartbeat_s
from .ranks import LOST, GangNode, RankAssignment

# So many attempts in a row may end without a step more than before, and without a checkpoint.
IDLE_ATTEMPTS = 2
# The ticks of two runners, and the kernel's time to end what is killed.
SLACK_S = 1.0


class RestartPolicy:
    """The rules, and how far the attempts have come; times in seconds, lost_after 0: nobody is ever lost."""

    def __init__(self, ranks: RankAssignment, max_restarts: int, lost_after: float, abort_grace: float) -> None:
        self._ranks = ranks
        self._max_restarts = max_restarts
        self._lost_after = lost_after
        self._abort_grace = abort_grace
        self._best_step = -1
        self._idle = 0

    def allows_restarts(self) -> bool:
        """Say whether a run may be started again at all."""
        return self._max_restarts > 0

    def exhausted_reason(self, attempt: int) -> str | None:
        """Say why there can be no attempt after this one, None where spares for whoever is away are all it needs."""
        if attempt >= self._max_restarts:
            return f"restarted {attempt} time{'s' * (attempt != 1)}, as often as it may be"
        nodes = self._unavailable_nodes()
        if not self._lost_after and any(node.state == LOST for node in nodes):
            return f"not restarted: {nodes[0].name} may go on by itself"
        return None if self._ranks.can_replace(nodes) else f"not restarted: no spare is left for {nodes[0].name}"

    def earliest_restart(self) -> float:
        """Return when nodes that were cut off have noticed it and ended their ranks: nobody writes beside a spare.

        Such a node may have heard the head for one sign of life longer than the head has heard it.
        """
        taken = self._ranks.ranked_nodes()
        heard = [node.last_heard for node in taken if node.state == LOST]
        notices = self._lost_after + heartbeat_s(len(taken), self._lost_after) + SLACK_S
        return max(heard, default=-math.inf) + notices + self._abort_grace

    def record_attempt(self) -> str | None:
        """Count the attempt that is over; say that too many got nowhere, None where the next one may begin."""
        reports = [node.report or {} for node in self._ranks.ranked_nodes()]
        step = max((int(report.get("step") or 0) for report in reports), default=0)
        moved = step > self._best_step or any(report.get("saved") for report in reports)
        self._idle = 0 if moved else self._idle + 1
        self._best_step = max(step, self._best_step)
        why = f"{self._idle} attempts in a row made no step and saved no checkpoint"
        return why if self._idle >= IDLE_ATTEMPTS else None

    def replace_unavailable_nodes(self) -> None:
        """Seat spares for whoever is away."""
        self._ranks.replace(self._unavailable_nodes())

    def _unavailable_nodes(self) -> list[GangNode]:
        """Return the nodes that can take no part in another attempt: lost, or with processes that can't be killed."""
        return [node for node in self._ranks.ranked_nodes() if node.state == LOST or (node.report or {}).get("stuck")]
