# SPDX-License-Identifier: GPL-3.0-or-later
"""When the head lets all nodes look at their ranks, and what it concludes: events in, looks out; no sockets, no clock.

A run in which no rank makes a step or prints anything for some seconds may compile, load, save or validate. So each
node looks twice, and the run hangs only if no rank has moved in between. Any other run is left alone for twice as long
as before, until a rank makes a step or prints something.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..._records.hang import Hang, NodeLook
from ..._records.hang_verdict import describe, judge
from ..._records.run import Pace
from ..._text.stamps import utc
from .coordinator import Coordinator
from .end_cause import HANG, MAX_WHY_BYTES, EndCause
from .frames import short

# How long the head waits for the looks of all nodes: two of up to 8 s for each of them, and what many ranks take.
LOOK_LIMIT_S = 45.0
# The longest time for which a run that moves without a sign of it is left alone.
LONGEST_PAUSE_S = 3600.0


class HangWatch:
    """Watches one run; limit_s: the seconds without a step and a line, 0 to watch nothing; action: of the policy.

    hang is what it has concluded, None while the run moves as far as it knows.
    """

    def __init__(self, limit_s: float, action: str = "warn") -> None:
        self.hang: Hang | None = None
        self._limit_s, self._action = limit_s, action
        self._attempt = -1
        self._quiet_until = 0.0
        self._pause_s = limit_s
        self._look_until: float | None = None  # while the nodes look
        self._look_number = 0
        self._silent_s = 0.0
        self._names: Mapping[int, str] = {}
        self._looks: dict[int, NodeLook] = {}

    def watch(self, coordinator: Coordinator, pace: Pace | None, now: float) -> list[tuple[int, dict[str, Any]]]:
        """Return orders for the nodes: to look at their ranks where none moves, and what the policy says of a hang."""
        before, running = self.hang, coordinator.running_nodes()
        orders: list[tuple[int, dict[str, Any]]] = []
        if self.tick(pace, coordinator.attempt, running, now):
            orders += [(number, {"type": "look", "number": self._look_number}) for number in running]
        hang = self.hang
        if hang == before:
            return orders
        if hang is None:
            return orders + [(number, {"type": "hang", "keep": False}) for number in running]
        order = {"type": "hang", "name": hang.folder, "keep": self._action == "keep"}
        orders += [(number, order) for number in running]
        if self._action == "stop" and hang.is_certain:
            self.note_stop()
            why = f"hung: {describe(hang)}"
            text = short(f"{hang.node}: {why}" if hang.node else why, MAX_WHY_BYTES)
            cause = EndCause("failed", text, hang.node, next(iter(hang.absent), None), kind=HANG)
            coordinator.on_finding(cause, now)
        return orders

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
        if self.hang is not None or now < self._quiet_until or not running:
            return False
        self._silent_s, self._names = silent_s, dict(running)
        self._looks, self._look_until = {}, now + LOOK_LIMIT_S
        self._look_number += 1
        return True

    def note(self, number: int, look: NodeLook) -> None:
        """Take what a node's look has shown; what was not asked for, or earlier, changes nothing."""
        if self._look_until is not None and number in self._names and look.number == self._look_number:
            self._looks[number] = look

    def note_stop(self) -> None:
        """Note that the run is ended because of this hang."""
        self.hang = None if self.hang is None else dataclasses.replace(self.hang, is_stopped=True)

    def _begin_anew(self, attempt: int) -> None:
        # Of an attempt that is being ended for it, it stays the reason.
        if attempt != self._attempt or self.hang is None or not self.hang.is_stopped:
            self.hang = None
        self._attempt, self._look_until, self._quiet_until, self._pause_s = attempt, None, 0.0, self._limit_s

    def _conclude(self, now: float) -> None:
        self._look_until = None
        looks = {self._names[number]: look for number, look in self._looks.items()}
        # Of a program whose ranks cannot be read, it is not known whether it hangs.
        if any(look.has_moved for look in looks.values()) or not any(look.positions for look in looks.values()):
            self._quiet_until = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, max(LONGEST_PAUSE_S, self._limit_s))
            return
        hang = judge(looks, {*self._names.values()} - {*looks})
        at = utc()
        folder = at.replace("-", "").replace(":", "")
        self.hang = dataclasses.replace(hang, at=at, silent_s=round(self._silent_s, 1), folder=folder)


def _silent_s(pace: Pace | None) -> float | None:
    """Return for how long no rank has made a step or printed anything, None where that is not known."""
    ages = [] if pace is None else [age for age in (pace.step_age_s, pace.line_age_s) if age is not None]
    return min(ages, default=None)
