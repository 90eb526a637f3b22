# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runner sees of the gang, on the head as on any other node: it tells how its part goes, and takes orders."""

from __future__ import annotations

import collections
import math
from typing import Any

from .frames import short

# Both ways, in seconds at most, and how many at least before silence is a loss; the head of a large gang hears enough.
BEATS, LARGE_BEATS, LARGE = (2.0, 3), (5.0, 2), 256
# What of a report is sent, in bytes of JSON: a frame has 4 KiB.
MOST_WHY = 900
MOST_TRACEBACK = 1800


class Gang:
    """The orders for this node: ``go`` {attempt}, ``stop`` {why, grace}, ``end`` {verdict, why, node, rank}."""

    def __init__(self) -> None:
        self.orders: collections.deque[dict[str, Any]] = collections.deque()

    def tick(self, now: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    def report_running(self) -> None:
        """Tell that this node's launcher runs."""
        raise NotImplementedError

    def report_failure(self, report: dict[str, Any]) -> None:
        """Tell that this node's launcher failed, while the rest of its processes end."""
        raise NotImplementedError

    def report_drained(self, report: dict[str, Any]) -> None:
        """Tell that nothing of the attempt is left here, and how it ended."""
        raise NotImplementedError

    def request_stop(self, why: str, grace: float) -> None:
        """Ask for the end of the run."""
        raise NotImplementedError

    def waiting_reason(self) -> str:
        """Say in one line whom it waits for before the start."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any] | None:
        """Return what the head knows of all nodes, None on any other."""
        return None

    def leave(self) -> bool:
        """Say good-bye; False while there is still somebody to wait for."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every connection."""
        raise NotImplementedError


def heartbeat_s(nnodes: int, lost_after: float) -> float:
    """Return the seconds between two signs of life."""
    usual, least = BEATS if nnodes <= LARGE else LARGE_BEATS
    return min(usual, lost_after / least) if lost_after else usual


def report_of(
    phase: str, fields: dict[str, Any], step: object = None, saved: bool = False, stuck: bool = False
) -> dict[str, Any]:
    """Return how a node's part ended, small enough to be sent: of the first failing rank what tells most.

    step is the last one, saved whether the attempt wrote a checkpoint, stuck whether processes stay.
    """
    first = fields.get("first") or {}
    # Its end tells most.
    traceback = short("\n".join(first.get("traceback") or [])[::-1], MOST_TRACEBACK)[::-1]
    return {
        "phase": phase,
        "why": short(str(fields.get("why") or ""), MOST_WHY),
        "exit_code": fields.get("exit_code"),
        "signal": first.get("signal") or fields.get("signal"),
        "rank": first.get("rank"),
        "time": first.get("time"),
        "traceback": traceback.splitlines(),
        "step": int(step) if isinstance(step, (int, float)) and math.isfinite(step) else None,
        "saved": saved,
        "stuck": stuck,
    }
