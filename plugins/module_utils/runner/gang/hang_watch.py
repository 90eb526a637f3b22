# SPDX-License-Identifier: GPL-3.0-or-later
"""When the head lets all nodes look at their ranks, and what it concludes: events in, looks out; no sockets, no clock.

A run in which no rank makes a step or prints anything for some seconds may compile, load, save or validate. So what
the looks show is said as it is, and the run is left alone for twice as long as before, until a rank makes a step or
prints something. Each look replaces the one before: what moves again is no longer said to wait.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..._records.hang import Hang, NodeLook
from ..._records.hang_verdict import explain, judge
from ..._records.run import Pace
from ..._text.stamps import utc
from .coordinator import Coordinator
from .end_cause import HANG, MAX_WHY_BYTES, EndCause
from .frames import short

# How long the head waits for the looks of all nodes: two of up to 8 s for each of them, and what many ranks take.
LOOK_LIMIT_S = 45.0
# The longest time for which a silent run is left alone: that for which NCCL's ranks wait (torch's default timeout).
LONGEST_PAUSE_S = 600.0


class HangWatch:
    """Watches one run; limit_s: the seconds without a step and a line, 0 to watch nothing; action: of the policy.

    hang is what it has concluded, None while the run makes steps or prints, and before the first look; look_number
    that of the last order to look.
    """

    def __init__(self, limit_s: float, action: str = "warn") -> None:
        self.hang: Hang | None = None
        self._limit_s, self._action = limit_s, action
        self._attempt = -1
        self._quiet_until = 0.0
        self._pause_s = limit_s
        self._look_until: float | None = None  # while the nodes look
        self.look_number = 0
        self._silent_s = 0.0
        self._names: Mapping[int, str] = {}
        self._looks: dict[int, NodeLook] = {}
        self._is_proven = False

    def watch(self, coordinator: Coordinator, pace: Pace | None, now: float) -> list[tuple[int, dict[str, Any]]]:
        """Return orders for the nodes: to look at their ranks where none moves, and what the policy says of a hang."""
        before, running = self.hang, coordinator.running_nodes()
        orders: list[tuple[int, dict[str, Any]]] = []
        if self.tick(pace, coordinator.attempt, running, now):
            orders += [(number, {"type": "look", "number": self.look_number}) for number in running]
        if self._action == "stop" and self._is_proven:
            self._stop(coordinator, now)
        hang = self.hang
        if hang == before:
            return orders
        # Without a name, the run moves again.
        name = {} if hang is None else {"name": hang.folder}
        is_kept = self._action == "keep" and hang is not None and not hang.is_moving
        return orders + [(number, {"type": "hang", **name, "keep": is_kept}) for number in running]

    def _stop(self, coordinator: Coordinator, now: float) -> None:
        if self.hang is None or self.hang.is_stopped:
            return
        hang = self.hang = dataclasses.replace(self.hang, silent_s=round(self._silent_s, 1), is_stopped=True)
        text = short(f"{hang.node}: {explain(hang)}" if hang.node else explain(hang), MAX_WHY_BYTES)
        coordinator.on_finding(EndCause("failed", text, hang.node, next(iter(hang.absent), None), kind=HANG), now)

    def tick(self, pace: Pace | None, attempt: int, running: Mapping[int, str], now: float) -> bool:
        """Let time pass; return whether these running nodes (number -> name) are to look at their ranks now."""
        if not self._limit_s:
            return False
        silent_s = _silent_s(pace)
        is_silent = silent_s is not None and silent_s >= self._limit_s
        if attempt != self._attempt or not is_silent:
            self._begin_anew(attempt)
        if silent_s is None or not is_silent:
            return False
        if self._look_until is not None:
            if len(self._looks) == len(self._names) or now >= self._look_until:
                self._conclude(now)
            return False
        is_stopped = self.hang is not None and self.hang.is_stopped
        if is_stopped or now < self._quiet_until or not running:
            return False
        self._silent_s, self._names = silent_s, dict(running)
        self._looks, self._look_until = {}, now + LOOK_LIMIT_S
        self.look_number += 1
        return True

    def note(self, number: int, look: NodeLook) -> None:
        """Take what a node's look has shown; what was not asked for, or earlier, changes nothing."""
        if self._look_until is not None and number in self._names and look.number == self.look_number:
            self._looks[number] = look

    def _begin_anew(self, attempt: int) -> None:
        # Of an attempt that is being ended for it, it stays the reason.
        if attempt != self._attempt or self.hang is None or not self.hang.is_stopped:
            self.hang, self._is_proven = None, False
        self._attempt, self._look_until, self._quiet_until, self._pause_s = attempt, None, 0.0, self._limit_s

    def _conclude(self, now: float) -> None:
        self._look_until, self._quiet_until = None, now + self._pause_s
        self._pause_s = min(2 * self._pause_s, max(LONGEST_PAUSE_S, self._limit_s))
        looks, before = {self._names[number]: look for number, look in self._looks.items()}, self.hang
        if not any(look.positions for look in looks.values()):
            return  # of a program whose ranks cannot be read, nothing is known
        hang = judge(looks, {*self._names.values()} - {*looks})
        has_changed = before is not None and _places(before) != _places(hang)
        if has_changed and not hang.is_certain:
            hang = dataclasses.replace(hang, is_moving=True)
        stays = before is not None and not (hang.is_moving or hang.silent) and bool(hang.absent)
        self._is_proven = hang.is_certain or stays
        if (
            before is None
            or dataclasses.replace(hang, at=before.at, silent_s=before.silent_s, folder=before.folder) != before
        ):
            at = utc()
            folder = at.replace("-", "").replace(":", "")
            self.hang = dataclasses.replace(hang, at=at, silent_s=round(self._silent_s, 1), folder=folder)


def _places(hang: Hang) -> tuple[object, ...]:
    return hang.collective, hang.waiting, hang.absent, hang.positions


def _silent_s(pace: Pace | None) -> float | None:
    """Return for how long no rank has made a step or printed anything, None where that is not known."""
    ages = [] if pace is None else [age for age in (pace.step_age_s, pace.line_age_s) if age is not None]
    return min(ages, default=None)
