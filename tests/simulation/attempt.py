# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks of a node in one attempt, without processes: how long they run, how they end, and that they hold a rank."""

from __future__ import annotations

import dataclasses
import math
import signal
import types
from typing import TYPE_CHECKING, Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils.runner.process_tree import UNKILLABLE_AFTER_S

if TYPE_CHECKING:
    from .world import World


@dataclasses.dataclass(frozen=True)
class Part:
    """What the ranks of a node do: for how long they run, their exit code, and how long they resist SIGTERM.

    survives: they are in uninterruptible sleep, so that SIGKILL does not end them either.
    """

    seconds: float
    code: int = 0
    resists_s: float = 0.0
    survives: bool = False


@dataclasses.dataclass
class Claim:
    """That the ranks of a node held a node rank, from when until when; is_orphaned: without a runner."""

    node: int
    rank: int
    attempt: int
    since: float
    part: Part
    until: float = math.inf
    is_orphaned: bool = False
    code: int | None = None

    def release(self, now: float) -> None:
        self.until = min(self.until, now)


class SimulatedAttempt:
    """An attempt as the supervisor sees it."""

    def __init__(self, world: World, node: int, job: Job, number: int, part: Part) -> None:
        self.began = world.now
        self.claim = Claim(node, job.node_rank, number, world.now, part)
        self.why: str | None = None
        self.saved, self.progress, self.ranks, self.pids, self.transport = True, None, None, None, None
        self.child = types.SimpleNamespace(pid=node + 1, start_time=1, code=None)
        self.looker = types.SimpleNamespace(is_kept=False, take_answer=lambda: None, follow=lambda _order: None)
        self.output = types.SimpleNamespace(heard=world.now, dropped=lambda: 0)
        self._world = world
        self._ends_at = world.now + part.seconds
        self._code = part.code
        self._kill_at = math.inf
        self._killed_at: float | None = None
        self._given_up: str | None = None
        world.trace(f"n{node} starts node rank {job.node_rank} of attempt {number}")

    @property
    def failed(self) -> bool:
        return self._given_up is not None or (self.child.code not in (None, 0) and self.why is None)

    def postpone(self, seconds: float) -> None:
        """Let the ranks do later what they did not do while their node was frozen."""
        if self.child.code is None:
            self._ends_at += seconds

    def orphan(self) -> None:
        self.claim.is_orphaned = True
        if not self.claim.part.resists_s and not self.claim.part.survives:
            self.claim.release(self._world.now)

    def stop(self, why: str, grace: float) -> None:
        now = self._world.now
        self._kill_at = min(self._kill_at, now + grace)
        if self.why is None and self.child.code is None:
            self.why = why
            if self.claim.part.survives:
                self._ends_at = math.inf
            elif now + self.claim.part.resists_s < self._ends_at:
                self._ends_at, self._code = now + self.claim.part.resists_s, -signal.SIGTERM

    def give_up(self, why: str) -> None:
        if self.why is None and self.child.code is None:
            self._given_up = why
            self.stop(why, 0.0)

    def tick(self, now: float) -> None:
        self.output.heard, now = now, self._world.now  # the node's clock may have stood still
        if self.child.code is not None:
            return
        if self._kill_at < min(now, self._ends_at):
            self._killed_at = self._killed_at or now
            if not self.claim.part.survives:
                self._end(now, -signal.SIGKILL)
        elif self._ends_at <= now:
            self._end(self._ends_at, self._code)

    def _end(self, now: float, code: int) -> None:
        self.child.code = self.claim.code = code
        self.claim.release(now)

    def over(self) -> bool:
        is_left = self._killed_at is not None and self._world.now - self._killed_at > UNKILLABLE_AFTER_S
        return self.child.code is not None or is_left

    def verdict(self) -> tuple[str, dict[str, Any], bool]:
        fields: dict[str, Any] = {"why": self.why, "exit_code": self.child.code}
        if self._given_up is not None:
            return "failed", {**fields, "why": self._given_up, "likeness": int(Likeness.OWN)}, True
        if self.child.code is None:
            return "failed", {**fields, "why": "a process survives SIGKILL"}, self._killed_at is not None
        if self.why is not None:
            return "stopped", fields, False
        if self.child.code == 0:
            return "succeeded", fields, False
        return "failed", {**fields, "why": f"exit code {self.child.code}", "likeness": int(Likeness.OWN)}, False

    def last_step(self) -> float | None:
        return float(self.claim.attempt)

    def stuck_rank(self) -> None:
        return None

    def close(self) -> None:
        pass

    def look(self) -> None:
        return None

    def look_at_end(self) -> None:
        pass
