# SPDX-License-Identifier: GPL-3.0-or-later
"""What a seed stands for: a gang, what its ranks do, and the faults that it meets."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable

from .attempt import Part

# The lines of the protocol beside which half of the faults happen.
MOMENTS = ("join", "go", "go", "go", "running", "failed", "drained", "stop", "end", "bye")
# What a node must survive where it is shorter than the limit.
PAUSES = ("freeze", "cut", "mute", "deafen", "stall")
KINDS = ("kill", "crash", "freeze", "cut", "mute", "deafen", "reset", "stop", "stall")
NEVER = math.inf


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a node, at a time in seconds, or so many seconds after a line of this kind to or from it was sent.

    cut: nothing arrives between the node and the head, or the head and all others; mute and deafen: from it, to it.
    suspend: the node freezes, and its clock stands still; no seed has it.
    """

    kind: str
    node: int
    at: float
    moment: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        when = f"{self.at:.3f} s after {self.moment}" if self.moment else f"at {self.at:.3f} s"
        return f"{self.kind} n{self.node} {when}" + (f" for {self.seconds:.1f} s" if self.seconds else "")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """The parts of the nodes by node and attempt, when each runner starts, the faults, and the settings of the gang."""

    parts: dict[tuple[int, int], Part]
    starts: tuple[float, ...]
    faults: tuple[Fault, ...] = ()
    seed: int = 1
    nnodes: int = 3
    spares: int = 1
    restarts: int = 1
    lost_after: int = 5
    abort_grace: int = 2
    disk_wait: int = 30
    tick_s: float = 0.2
    latency: tuple[float, float] = (0.001, 0.01)

    def __str__(self) -> str:
        spares = f" and {self.spares} spares" if self.spares else ""
        late = [f"n{number} at {start:.1f} s" for number, start in enumerate(self.starts) if start > 1.0]
        return "\n".join(
            [
                f"{self.nnodes} nodes{spares}, {self.restarts} restarts, lost after {self.lost_after} s",
                *(f"a late runner: {text}" for text in late),
                *(f"n{node}, attempt {number}: {part}" for (node, number), part in sorted(self.parts.items())
                  if part.code or part.resists_s or part.survives),
                *map(str, self.faults),
            ]
        )  # fmt: skip

    def part_of(self, node: int, attempt: int) -> Part:
        return self.parts[node, min(attempt, self.restarts)]


def make_scenario(seed: int) -> Scenario:
    """Return the scenario of a seed; each seed leaves out half of the kinds of faults."""
    chance = random.Random(seed)
    nnodes = chance.choice([2, 2, 2, 3, 3, 4, 5, 6, 8, 16] if chance.random() < 0.5 else [2, 3, 4])
    spares, restarts = chance.choice([0, 1, 1, 2]), chance.choice([0, 1, 1, 2, 3])
    abort_grace = chance.choice([2, 10])
    kinds = chance.sample(KINDS, len(KINDS) // 2 + 1)
    starts = [chance.uniform(0.0, 1.0) for _number in range(nnodes + spares)]
    if chance.random() < 0.15:
        starts[chance.randrange(len(starts))] = chance.choice([chance.uniform(1.0, 120.0), NEVER])
    parts = {}
    for attempt in range(restarts + 1):
        seconds = chance.choice([chance.uniform(0.5, 5.0), chance.uniform(15.0, 40.0)])
        fails = chance.randrange(nnodes) if chance.random() < 0.3 else None
        for number in range(nnodes + spares):
            until = chance.uniform(0.0, seconds) if number == fails else seconds + chance.uniform(0.0, 0.5)
            resists_s = chance.uniform(0.0, 1.5 * abort_grace) if chance.random() < 0.4 else 0.0
            parts[number, attempt] = Part(until, int(number == fails), resists_s, chance.random() < 0.02)
    nodes, lost_after = nnodes + spares, chance.choice([3, 5, 5, 12])
    faults = [_make_fault(chance, kinds, nodes, lost_after) for _count in range(chance.choice([0, 1, 2, 2, 3, 3]))]
    tick_s, latency = chance.choice([0.2, 0.5, 1.0]), chance.choice([(0.0001, 0.001), (0.001, 0.1), (0.05, 0.5)])
    if chance.random() < 0.2:
        lost_after, tick_s, latency = chance.choice([5, 5, 12]), 0.2, (0.0001, 0.01)
        faults = _make_pauses(chance, nodes, lost_after)
    return Scenario(
        parts=parts,
        starts=tuple(starts),
        faults=tuple(faults),
        seed=seed,
        nnodes=nnodes,
        spares=spares,
        restarts=restarts,
        lost_after=lost_after,
        abort_grace=abort_grace,
        tick_s=tick_s,
        latency=latency,
    )


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """Return the scenario with only those faults without which it would not fail."""
    for fault in scenario.faults:
        smaller = dataclasses.replace(scenario, faults=tuple(kept for kept in scenario.faults if kept is not fault))
        if fails(smaller):
            return shrink(smaller, fails)
    return scenario


def _make_pauses(chance: random.Random, nodes: int, lost_after: int) -> list[Fault]:
    """Return pauses, one after the other, that a gang must survive: nearly all of them are short enough."""
    faults, at = [], chance.uniform(0.0, 20.0)
    for _count in range(chance.choice([1, 1, 2, 4])):
        seconds = chance.uniform(0.2, 0.55) * lost_after
        faults.append(Fault(chance.choice(PAUSES), chance.randrange(nodes), at, "", seconds))
        at += seconds + lost_after
    return faults


def _make_fault(chance: random.Random, kinds: list[str], nodes: int, lost_after: int) -> Fault:
    kind = chance.choice(kinds)
    is_aimed = chance.random() < 0.5
    at = (
        chance.choice([0.0, chance.uniform(0.0, 0.01), chance.uniform(0.0, 1.0)])
        if is_aimed
        else chance.uniform(0.0, 30.0)
    )
    short, long = chance.uniform(0.1, lost_after), chance.uniform(lost_after, 4 * lost_after)
    seconds = {
        "freeze": chance.choice([short, long, NEVER]),
        "cut": chance.choice([short, long, NEVER]),
        "mute": chance.choice([short, long, long]),
        "deafen": chance.choice([short, long, long]),
        "stall": chance.choice([short, long, NEVER]),
    }.get(kind, 0.0)
    return Fault(kind, chance.randrange(nodes), at, chance.choice(MOMENTS) if is_aimed else "", seconds)
