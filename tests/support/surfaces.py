# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep over a known surface, whose runs end at once: two minima, the lower of which is 0 at x=6 and y=1."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import SUCCEEDED, Point, Sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.search import choose
from ansible_collections.muster.train.plugins.plugin_utils._sweep.study import Study

# The second axis has texts, which are numbers, in no order.
AXES: dict[str, list[Any]] = {"x": list(range(8)), "env.Y": ["3", "0", "1", "5", "2", "4"]}
SIZE = 48
End = Callable[[Point], Point]


def value_at(x: int, y: float) -> float:
    """Return the height of the surface."""
    return min((x - 6) ** 2 + (y - 1) ** 2, 0.6 * ((x - 1) ** 2 + (y - 5) ** 2) + 3)


def succeed(point: Point) -> Point:
    """Return a run that has ended with the value of its combination."""
    value = value_at(point.parameters["x"], float(point.parameters["env.Y"]))
    return replace(point, outcome=SUCCEEDED, run_id=f"run_{point.label}", value=value)


def surface_sweep(search: str, trials: int, key: str = "k", repeat: int = 1, objective: str = "loss") -> Sweep:
    """Return a sweep none of whose points has run."""
    points = [
        Point(number, repetition, dict(zip(AXES, values, strict=True)), f"{number}.{repetition}")
        for number, values in enumerate(itertools.product(*AXES.values()), start=1)
        for repetition in range(1, repeat + 1)
    ]
    return Sweep("sweep_1", key, "", "", objective, AXES, points, search, trials)


def run_trials(sweep: Sweep, study: Study | None, count: int, end: End = succeed) -> Sweep:
    """Return the sweep after so many more trials."""
    for _trial in range(count):
        for point in choose(sweep, study):
            ended = end(replace(point, trial=sweep.trial_of(point)))
            sweep = sweep.with_point(ended)
            if study:
                study.update(sweep)
    return sweep
