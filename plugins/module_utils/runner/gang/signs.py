# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last sign of life of every node, as the head keeps and writes it; what a member sends is data that may be forged.

At most one sign is kept per node, and a frame bounds its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._records.gang import EXITED, NodeSign, NodeStatus
from ..._records.run import Pace
from ..._text.stamps import utc
from .ranks import GangNode


class Signs:
    """What nodes have said of their parts, by their numbers."""

    def __init__(self, nproc: int) -> None:
        self._nproc = nproc
        self._signs: dict[int, tuple[float, NodeSign]] = {}  # with the time at which each came
        self._ended: dict[int, str] = {}  # when a node's part of the attempt ended (UTC)
        self._exited: set[int] = set()
        self.stalled_s: dict[int, int] = {}  # for how long the storage of a node has not answered

    def note(self, number: int, sign: object, stalled_s: object, now: float) -> None:
        """Keep a node's sign in place of its last one; what is not a sign changes nothing."""
        if isinstance(stalled_s, int) and stalled_s > 0:
            self.stalled_s[number] = stalled_s
        else:
            self.stalled_s.pop(number, None)
        if isinstance(sign, NodeSign):
            self._signs[number] = now, sign
        elif isinstance(sign, dict):
            self._signs[number] = now, NodeSign.from_dict(sign)

    def note_drained(self, number: int) -> None:
        """Note that a node's part of the attempt has ended now."""
        self._ended[number] = utc()

    def note_exit(self, number: int) -> None:
        """Note that the process of a node's runner has ended."""
        self._exited.add(number)

    def statuses(self, nodes: Sequence[GangNode], now: float) -> list[dict[str, Any]]:
        """Return the status of each node as plain data."""
        return [self._status(number, node, now) for number, node in enumerate(nodes)]

    def _status(self, number: int, node: GangNode, now: float) -> dict[str, Any]:
        came, sign = self._signs.get(number, (now, None))
        report = node.report or {}
        status = NodeStatus(
            node=node.name,
            number=number,
            node_rank=node.rank,
            state=EXITED if number in self._exited else node.state,
            heard_s=round(now - (node.last_heard if number else now), 1),
            stalled_s=self.stalled_s.get(number, 0),
            phase=report.get("phase"),
            why=report.get("why"),
            exit_code=report.get("exit_code"),
            signal=report.get("signal"),
            stuck=report.get("stuck") is True,
            ended=self._ended.get(number) if node.report else None,
        )
        return {**vars(status), "sign": sign and _as_of(sign, now - came)}

    def pace(self, nodes: Sequence[GangNode], attempt: int, now: float) -> Pace | None:
        """Return how the nodes of an attempt move; None before any of them has given a sign."""
        steps: list[tuple[float, int, float]] = []
        step_ages, line_ages = [], []
        for number, (came, sign) in self._signs.items():
            rank = nodes[number].rank
            if rank is None or sign.attempt != attempt:
                continue
            step = sign.progress.step if sign.progress else None
            if step is not None and math.isfinite(step):
                steps.append((_expected(step, sign, now - came), number, step))
            step_ages += [sign.step_age_s + now - came] if sign.step_age_s is not None else []
            line_ages += [sign.line_age_s + now - came] if sign.line_age_s is not None else []
        if not steps and not line_ages:
            return None
        ages = {
            "step_age_s": _rounded(min(step_ages, default=None)),
            "line_age_s": _rounded(min(line_ages, default=None)),
        }
        if not steps:
            return Pace(**ages)
        (fewest, number, step), most = min(steps), max(steps)[0]
        behind = round(1 - fewest / most, 3) if most > 0 else 0.0
        return Pace(nodes[number].name, (nodes[number].rank or 0) * self._nproc, step, behind, **ages)


def _expected(step: float, sign: NodeSign, seconds: float) -> float:
    """Return the step that a node has by now if it went on at its mean pace: signs of nodes are not equally old."""
    elapsed_s = sign.elapsed_s or 0.0
    return step * (1 + seconds / elapsed_s) if elapsed_s > seconds else step


def _as_of(sign: NodeSign, seconds: float) -> dict[str, Any]:
    """Return a sign that came so many seconds ago as plain data of now. (to_dict takes ten times as long.)"""
    data = dict(vars(sign))
    for name in ("elapsed_s", "step_age_s", "line_age_s"):
        data[name] = _rounded(None if data[name] is None else data[name] + seconds)
    data["progress"] = sign.progress and vars(sign.progress)
    data["memlock"] = sign.memlock and vars(sign.memlock)
    data["warnings"] = [vars(warning) for warning in sign.warnings]
    return data


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else round(seconds, 1)
