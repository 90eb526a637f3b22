# SPDX-License-Identifier: GPL-3.0-or-later
"""How the objective of a run develops while it goes on, at checkpoints that all runs of a sweep have in common."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress

from .._request.conditions import parse_order
from .._results.rows import number_text
from .record import SUCCEEDED, Point

# Tenths of the steps of a run.
CHECKPOINTS = 10


class Course:
    """curve has the objective at each checkpoint since the first that was seen; why says for what the run was stopped.

    The value is the first one after the checkpoint. A checkpoint that no sample was near has the one before.
    """

    def __init__(self, objective: str) -> None:
        self._name = parse_order(objective).name
        self.curve: dict[str, float] = {}
        self.has_diverged = False  # its last value is not a number
        self.why: str | None = None

    def add(self, sample: Mapping[str, Any]) -> bool:
        """Add what a sample of the run shows; return whether it is at a new checkpoint."""
        progress = Progress.optional(sample.get("progress"))
        checkpoint, value = _checkpoint(progress), getattr(progress, self._name, None)
        if checkpoint is None or value is None:
            return False
        self.has_diverged = not math.isfinite(value)
        if self.has_diverged or str(checkpoint) in self.curve:
            return self.has_diverged
        self._fill(checkpoint)
        self.curve[str(checkpoint)] = value
        return True

    def finish(self) -> None:
        """Add what is left, once the run has succeeded."""
        self._fill(CHECKPOINTS)

    def _fill(self, end: int) -> None:
        """Give checkpoints before this one that were missed the last value before them."""
        last = max(map(int, self.curve), default=end)
        self.curve.update({str(missed): self.curve[str(last)] for missed in range(last + 1, end)})

    def why_worse(self, points: Iterable[Point]) -> str:
        """Return how the run compares with the others of its sweep at its last checkpoint."""
        if self.has_diverged:
            return f"its {self._name} is not a number any more"
        checkpoint = max(self.curve, key=int)
        others = [curve[checkpoint] for point in points if (curve := _curve(point)) and checkpoint in curve]
        value, median = number_text(self.curve[checkpoint]), number_text(statistics.median(others))
        part = f"{int(checkpoint) * 100 // CHECKPOINTS} %"
        runs = f"the {len(others)} successful runs with a value there"
        return f"{self._name} {value} after {part} of its steps, where the median of {runs} is {median}"


def _checkpoint(progress: Progress | None) -> int | None:
    """Return how many tenths of its steps a run has made; None where that is not known, or none or all."""
    step, total = (progress.step, progress.total_steps) if progress else (None, None)
    if step is None or total is None or not 0 < step < total < math.inf:
        return None
    return int(CHECKPOINTS * step / total) or None


def _curve(point: Point) -> Mapping[str, float] | None:
    return point.curve if point.outcome == SUCCEEDED else None
