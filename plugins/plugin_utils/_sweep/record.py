# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep is and what has become of its points: `sweep.yml`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import Record

from .._request.axes import VARIABLE, combinations, parameters_of
from .._request.points import read_values
from .._request.run_id import make, subject_of
from .._request.settings import given_values
from .._request.settings import values as request_values
from .._request.verbs import GRID, parameter_names
from .._results import experiment

FILE = "sweep.yml"
# Of the combinations, where it is not given how many are tried.
PART = 1 / 3
HEADER = "# What this sweep has run. Written by Muster.\n"
# Outcomes of a point. One that is not done is launched by the next command.
PENDING, RUNNING, SUCCEEDED, FAILED, TIMED_OUT, STOPPED, REFUSED, LOST, PRUNED = (
    *("pending", "running", "succeeded", "failed", "timed_out", "stopped", "refused", "lost", "pruned"),
)
DONE = (SUCCEEDED, PRUNED)
# Parameters of the sweep as a whole, not of its runs; the last ones do not make another sweep of it.
OF_SWEEP = {*parameter_names("sweep")} - {*parameter_names("launch")}
OF_ONE_COMMAND = (
    "shuffle",
    "objective",
    "search",
    "trials",
    "prune",
    "max_failures",
    "pause",
    "confirm_points",
    "preflight",
    "output",
    "wait",
    "sync",
)


@frozen
class Point(Record):
    """One run of a sweep: the values that it was launched with, and what became of it.

    number counts the combinations from 1, repeat the runs of one of them. key is the hash of all its launch parameters.
    value is that of the objective, elapsed_s the duration of the run. trial counts the combinations from 1 as they were
    first launched. curve has the objective while the run went on, by its checkpoint, where prune was given.
    """

    number: int
    repeat: int
    parameters: dict[str, Any]
    key: str
    outcome: str = PENDING
    run_id: str | None = None
    why: str | None = None
    elapsed_s: float | None = None
    value: float | None = None
    trial: int | None = None
    curve: dict[str, float] | None = None

    @property
    def label(self) -> str:
        """The label of its runs."""
        return f"point{self.number}.{self.repeat}"

    def forget(self) -> Point:
        """Return the point as it was before it ran."""
        return Point(self.number, self.repeat, self.parameters, self.key, trial=self.trial)


@frozen
class Sweep(Record):
    """A sweep; key is the hash of all that makes it another sweep. Times are UTC.

    trials is how many combinations are tried, None for all of them.
    """

    sweep_id: str
    key: str
    created: str
    command: str
    objective: str
    axes: dict[str, Any]
    points: list[Point]
    search: str = GRID
    trials: int | None = None

    def with_point(self, point: Point) -> Sweep:
        """Return the sweep with what has become of a point."""
        points = [point if known.key == point.key else known for known in self.points]
        return replace(self, points=points)

    @property
    def tried(self) -> dict[int, int]:
        """The trial of each combination that has been launched."""
        return {point.number: point.trial for point in self.points if point.trial is not None}

    @property
    def chosen(self) -> list[Point]:
        """The runs that are known to belong to it: all of a grid, else those of its trials, in their order."""
        if self.trials is None:
            return list(self.points)
        tried = self.tried
        points = [point for point in self.points if point.number in tried]
        return sorted(points, key=lambda point: (tried[point.number], point.repeat))

    @property
    def left(self) -> int:
        """How many of its runs have not been chosen yet."""
        repeats = max((point.repeat for point in self.points), default=1)
        return max(0, (self.trials or 0) - len(self.tried)) * repeats

    @property
    def unfinished(self) -> int:
        """How many runs a command has to launch."""
        return len(unfinished(self.chosen)) + self.left

    def trial_of(self, point: Point) -> int:
        """Return which trial a combination is, counted from 1 in the order of their first launches."""
        return self.tried.get(point.number, 1 + max(self.tried.values(), default=0))

    def asked_as(self, planned: Sweep) -> Sweep:
        """Return the sweep with its runs so far as a command asks for it that plans the same one.

        Where it names another objective, nothing is known of how runs developed, and none is worse than others.
        """
        points = self.points
        if planned.objective != self.objective:
            points = [point.forget() if point.outcome == PRUNED else replace(point, curve=None) for point in points]
        return replace(planned, sweep_id=self.sweep_id, created=self.created, command=self.command, points=points)


def plan_sweep(request: Mapping[str, Any]) -> Sweep:
    """Return the sweep that a request asks for, of which no point has run."""
    settings = request["parameters"]
    fixed = {name: value for name, value in request_values(request).items() if name not in OF_ONE_COMMAND}
    fixed["sweep"] = read_values(fixed["sweep"])
    place = {"cluster": request["cluster"], "nodes": request["nodes"]}
    launched = {name: value for name, value in fixed.items() if name not in OF_SWEEP}
    points = []
    for number, values in enumerate(combinations(fixed["sweep"]), start=1):
        parameters = {**launched, **parameters_of(values, launched.get("env") or {})}
        for repeat in range(1, fixed["repeat"] + 1):
            points.append(Point(number, repeat, values, _hash({**place, **parameters, "repeat": repeat})))
    label, search, trials = fixed.get("label"), settings["search"]["value"], settings["trials"]["value"]
    if search != GRID and trials is None:
        trials = math.ceil(PART * len(points) / fixed["repeat"])
    created = str(request["created"])
    time = "".join(sign for sign in created if sign.isdigit())
    return Sweep(
        sweep_id=f"sweep_{time[:8]}_{time[8:]}{f'_{label}' if label else ''}",
        key=_hash({**place, **fixed}),
        created=created,
        command=str(request["command"]),
        objective=str(settings["objective"]["value"]),
        axes=fixed["sweep"],
        points=points,
        search=str(search),
        trials=trials,
    )


def launch_parameters(request: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with which a point with these values is launched, without the cluster's own ones."""
    settings = request["parameters"]
    omitted = {*OF_SWEEP, "label", "output", "sync"}
    given = {name: value for name, value in given_values(settings).items() if name not in omitted}
    environment = settings["env"]["value"] if any(name.startswith(VARIABLE) for name in values) else {}
    return {**given, **parameters_of(values, environment or {})}


def new_run_id(request: Mapping[str, Any], point: Point, now: datetime, nonce: str) -> str:
    """Return the ID of a run of a point, which is known before it is launched."""
    parameters = request_values(request)
    parameters.update(parameters_of(point.parameters, {}))
    subject = subject_of(*(parameters.get(name) for name in ("channels", "threads", "script", "module")))
    return make(subject, now, point.label, nonce)


def dump(sweep: Sweep) -> str:
    """Return `sweep.yml`."""
    return HEADER + experiment.to_yaml(sweep.to_dict())


def load(text: str) -> Sweep:
    """Read `sweep.yml`; raise ValueError if it is not a sweep."""
    try:
        return Sweep.from_dict(experiment.load(text))
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a sweep: {error}") from error


def count_outcomes(points: Iterable[Point]) -> dict[str, int]:
    """Return how many points have each outcome, those that succeeded first."""
    counts = dict.fromkeys((SUCCEEDED, PRUNED, FAILED, TIMED_OUT, LOST, STOPPED, REFUSED, RUNNING, PENDING), 0)
    for point in points:
        counts[point.outcome] = counts.get(point.outcome, 0) + 1
    return {outcome: count for outcome, count in counts.items() if count}


def unfinished(points: Sequence[Point]) -> list[Point]:
    """Return the points to run: those that have neither succeeded nor been pruned."""
    return [point for point in points if point.outcome not in DONE]


def _hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
