# SPDX-License-Identifier: GPL-3.0-or-later
"""The last sign of life of every node, as the head keeps and writes it; what a member sends is data that may be forged.

At most one sign is kept per node, and a frame bounds its size. It is kept as it came: to read each of a thousand into
records would take as much time as all else that the head does. Who reads `nodes.json` reads them, here only the pace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._records.document import as_number
from ..._records.frozen import frozen
from ..._records.gang import EXITED, NodeSign
from ..._records.known import as_dict
from ..._records.run import Pace, RunWarning
from ..._text.stamps import utc
from .ranks import GangNode

# What a report has of the end of a node's part that is written.
ENDS = ("phase", "why", "exit_code", "signal", "stuck")

# Signs are up to some seconds old, so even nodes in lock step seem to differ by the steps made in so long.
USUAL_S = 10.0


@frozen
class _Move:
    """The last step that a node reported, when the head first knew it, and how far it was from the one before."""

    attempt: int
    step: float
    came: float
    stride: float = 0.0
    steps_per_s: float = 0.0


class Signs:
    """What nodes have said of their parts, by their numbers."""

    def __init__(self, nproc: int) -> None:
        self._nproc = nproc
        self._signs: dict[int, tuple[float, dict[str, Any]]] = {}  # when each came
        self._ended: dict[int, str] = {}  # when a node's part of the attempt ended (UTC)
        self._exited: set[int] = set()
        self._moves: dict[int, _Move] = {}
        self.stalled_s: dict[int, int] = {}  # for how long the storage of a node has not answered

    def note(self, number: int, sign: object, stalled_s: object, now: float) -> None:
        """Keep a node's sign in place of its last one; what is not a sign changes nothing."""
        if isinstance(stalled_s, int) and stalled_s > 0:
            self.stalled_s[number] = stalled_s
        else:
            self.stalled_s.pop(number, None)
        if isinstance(sign, NodeSign):  # the head's own
            sign = sign.to_short_dict()
        if isinstance(sign, dict):
            self._signs[number] = now, sign

    def note_drained(self, number: int) -> None:
        """Note that a node's part of the attempt has ended now."""
        self._ended[number] = utc()

    def note_exit(self, number: int) -> None:
        """Note that the process of a node's runner has ended."""
        self._exited.add(number)

    def latest(self, attempt: int) -> dict[int, tuple[float, dict[str, Any]]]:
        """Return the last sign of each node that is of this attempt, and when it came."""
        return {number: item for number, item in self._signs.items() if item[1].get("attempt") == attempt}

    def raised(self) -> list[RunWarning]:
        """Return the ranks that raised an exception and have not ended, by the last sign of each node."""
        warnings = (NodeSign.from_dict(sign).warnings for _came, sign in self._signs.values() if sign.get("warnings"))
        return [warning for of_node in warnings for warning in of_node if warning.kind == "raised"]

    def statuses(self, nodes: Sequence[GangNode], now: float) -> list[dict[str, Any]]:
        """Return the status of each node as plain data."""
        return [self._status(number, node, now) for number, node in enumerate(nodes)]

    def _status(self, number: int, node: GangNode, now: float) -> dict[str, Any]:
        report = node.report or {}
        status = {
            "node": node.name,
            "number": number,
            "node_rank": node.rank,
            "state": EXITED if number in self._exited else node.state,
            "heard_s": round(now - node.last_heard, 1) if number else 0.0,
            "stalled_s": self.stalled_s.get(number),
            "ended": self._ended.get(number) if report else None,
            **{name: report.get(name) for name in ENDS if report},
        }
        if number in self._signs:
            came, sign = self._signs[number]
            status.update(sign=sign, sign_age_s=round(now - came, 1))
        # What is not the default: the document of a thousand nodes is written every few seconds.
        return {name: value for name, value in status.items() if value is not None}

    def pace(self, nodes: Sequence[GangNode], attempt: int, now: float) -> Pace | None:
        """Return how the nodes of an attempt move since the last call; None before any of them has given a sign."""
        steps: list[tuple[float, int]] = []
        step_ages: list[float] = []
        line_ages: list[float] = []
        for number, (came, sign) in self._signs.items():
            rank = nodes[number].rank
            if rank is None or sign.get("attempt") != attempt:
                continue
            step = as_number(as_dict(sign.get("progress")).get("step"))
            if step is not None and math.isfinite(step):
                steps.append((step, number))
                self._moves[number] = _moved(self._moves.get(number), attempt, step, came)
            for ages, name in ((step_ages, "step_age_s"), (line_ages, "line_age_s")):
                age = as_number(sign.get(name))
                ages += [age + now - came] if age is not None else []
        if not steps and not line_ages:
            return None
        youngest: dict[str, Any] = {
            "step_age_s": _rounded(min(step_ages, default=None)),
            "line_age_s": _rounded(min(line_ages, default=None)),
        }
        if not steps:
            return Pace(**youngest)
        (step, number), (most, fastest) = min(steps), max(steps)
        # A program may report every few steps only, and nodes at different times.
        strides = [self._moves[node].stride for _step, node in steps]
        usual = max(2 * max(strides), self._moves[fastest].steps_per_s * USUAL_S)
        behind = round(1 - step / most, 3) if usual and most > 0 and most - step > usual else 0.0
        return Pace(nodes[number].name, (nodes[number].rank or 0) * self._nproc, step, behind, **youngest)


def _moved(move: _Move | None, attempt: int, step: float, came: float) -> _Move:
    """Return how a node moves with this step, which is perhaps its last one again."""
    if move is None or move.attempt != attempt or step < move.step:
        return _Move(attempt, step, came)
    if step == move.step:
        return move
    stride, seconds = step - move.step, came - move.came
    return _Move(attempt, step, came, stride, stride / seconds if seconds > 0 else 0.0)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else round(seconds, 1)
