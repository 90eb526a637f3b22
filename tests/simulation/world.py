# SPDX-License-Identifier: GPL-3.0-or-later
"""A world on a virtual clock: one heap of events, one seeded generator, and runners of which one moves at a time.

A runner is a program that waits in many places, so each has a thread; the world hands them the turn, one by one, and
nothing depends on the real clock or on the scheduler of the machine.
"""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable


class Killed(BaseException):
    """Raised where a runner waits that has been killed."""


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class World:
    """The clock in seconds; `at` plans a call, `run` makes the calls in order."""

    def __init__(self, seed: int, is_traced: bool = False) -> None:
        self.now = 0.0
        self.chance = random.Random(seed)
        self.turn = _held_lock()
        self.lines: list[str] = []
        self._is_traced = is_traced
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time: float, call: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._calls, (max(time, self.now), self._count, call))

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        self.at(self.now + seconds, call)

    def run(self, is_over: Callable[[], bool], limit: float) -> bool:
        """Let time pass until it is over; return False where that takes longer than the limit."""
        while not is_over():
            if not self._calls or self._calls[0][0] > limit:
                return False
            self.now, _count, call = heapq.heappop(self._calls)
            call()
        return True

    def trace(self, *words: object) -> None:
        if self._is_traced:
            self.lines.append(f"{self.now:9.3f}  {' '.join(map(str, words))}")


class Task:
    """A program in the world; `resume` lets it go on until it waits again, which `pause` does within it."""

    def __init__(self, world: World, main: Callable[[], None]) -> None:
        self.is_over = False
        self._world = world
        self._main = main
        self._go = _held_lock()
        self._is_killed = False
        threading.Thread(target=self._work, daemon=True).start()

    def resume(self) -> None:
        if not self.is_over:
            self._go.release()
            self._world.turn.acquire()

    def pause(self) -> None:
        self._world.turn.release()
        self._go.acquire()
        if self._is_killed:
            raise Killed

    def kill(self) -> None:
        self._is_killed = True
        self.resume()

    def _work(self) -> None:
        self._go.acquire()
        try:
            if not self._is_killed:
                self._main()
        except Killed:
            pass
        finally:
            self.is_over = True
            self._world.turn.release()
