# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of a sweep as a study of Optuna in SQLite, which suggests combinations and says which run is worse.

The records of the sweep are the truth: a study that is not there, is damaged or differs from them is made anew.
"""

from __future__ import annotations

import importlib
import math
import sqlite3
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from .._action.private import private_files
from .._findings.errors import UserError
from .._request.conditions import parse_order
from .._request.verbs import TPE
from .record import FAILED, PRUNED, SUCCEEDED, TIMED_OUT, Point, Sweep

if TYPE_CHECKING:
    from optuna.distributions import CategoricalDistribution, IntDistribution
    from optuna.study import Study as OptunaStudy
    from optuna.trial import FrozenTrial

FILE = "study.db"
# What ended in another way tells nothing of its values.
TELLING = (SUCCEEDED, PRUNED, FAILED, TIMED_OUT)
# A quarter of the trials are random before the first suggestion, but at least and at most so many.
FEWEST_RANDOM, MOST_RANDOM = 2, 6
# A run is compared with at least so many that have ended, and not before this checkpoint.
FEWEST_RUNS, FIRST_CHECKPOINT = 4, 2
# The values of a combination by their places on the axes, as trials have them.
Places = dict[str, int]


def require_optuna(search: str) -> None:
    """Raise UserError if Optuna is not installed."""
    try:
        importlib.import_module("optuna")
    except ImportError as error:
        wanted = "search=tpe" if search == TPE else "prune=true"
        raise UserError(
            f"the controller: {wanted} needs Optuna, which the Python of ansible-playbook does not have ({error}); "
            f"install it: {sys.executable} -m pip install optuna"
        ) from None


class Study:
    """A trial for each run that has ended and tells something of its values."""

    def __init__(self, home: Path, sweep: Sweep) -> None:
        self._path, self._axes = home / FILE, {name: _Axis(values) for name, values in sweep.axes.items()}
        is_maximum, self._name = parse_order(sweep.objective).descending, sweep.sweep_id
        self._random_count = max(FEWEST_RANDOM, min(MOST_RANDOM, (sweep.trials or 0) // 4))
        self._direction: Literal["maximize", "minimize"] = "maximize" if is_maximum else "minimize"
        self._study = self._open_kept() or self._make()
        self.update(sweep)

    def update(self, sweep: Sweep) -> None:
        """Add the runs that have ended; where one is not known any more, as before it runs again, make all anew."""
        trials = {point.label: self._trial(point) for point in sweep.chosen if point.outcome in TELLING}
        known = {_label(trial): _facts(trial) for trial in self._study.get_trials()}
        if any(label not in trials or _facts(trials[label]) != facts for label, facts in known.items()):
            self._study, known = self._make(), {}
        self._study.add_trials([trial for label, trial in trials.items() if label not in known])

    def suggest(self, free: Mapping[int, Mapping[str, Any]], chance: Random) -> int:
        """Return which of the combinations, by their numbers, is to be tried next: the one nearest to a suggestion."""
        import optuna

        sampler = optuna.samplers.TPESampler(n_startup_trials=self._random_count, seed=chance.randrange(2**32))
        # The suggestion is made in a copy: the study itself has what was run.
        copy = optuna.create_study(sampler=sampler, direction=self._direction)
        copy.add_trials(sorted(self._study.get_trials(), key=_label))
        wanted = copy.ask(self._distributions()).params
        distances = {number: self._distance(self._places(values), wanted) for number, values in free.items()}
        nearest = min(distances.values())
        return chance.choice([number for number, distance in distances.items() if distance == nearest])

    def is_worse(self, curve: Mapping[str, float]) -> bool:
        """Return whether a run that has got so far is worse than the median of those that have succeeded."""
        import optuna

        # Runs go on one after the other, each to its end, so that there is always a median to compare with; successive
        # halving would need many that have got as far as each other.
        pruner = optuna.pruners.MedianPruner(FEWEST_RUNS, FIRST_CHECKPOINT, n_min_trials=FEWEST_RUNS)
        # The pruner takes the best of the values that it is given, and what counts is the last one.
        last = max(curve, key=int)
        values = _steps({last: curve[last]})
        running = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING, intermediate_values=values)
        return bool(pruner.prune(self._study, running))

    def _open_kept(self) -> OptunaStudy | None:
        """Return the study that is there, None where there is none, or none that can be read."""
        if not self._path.exists():
            return None
        try:
            study = self._open()
            study.get_trials()
        except Exception:  # whatever Optuna, SQLAlchemy or SQLite make of a file that is damaged
            return None
        return study if study.direction.name.lower() == self._direction else None

    def _make(self) -> OptunaStudy:
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(FILE + suffix).unlink(missing_ok=True)
        return self._open()

    def _open(self) -> OptunaStudy:
        import optuna

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(self._path, timeout=60)
            connection.execute("PRAGMA synchronous = OFF")  # what is lost is made anew
            return connection

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with private_files(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # An URL would need a path without any sign that means something there.
            storage = optuna.storages.RDBStorage("sqlite://", {"creator": connect})
            return optuna.create_study(
                storage=storage, study_name=self._name, direction=self._direction, load_if_exists=True
            )

    def _trial(self, point: Point) -> FrozenTrial:
        import optuna

        # A run that failed counts as one that was pruned before all others: worse than any.
        state = optuna.trial.TrialState.PRUNED
        if point.outcome == SUCCEEDED:
            state = optuna.trial.TrialState.FAIL if point.value is None else optuna.trial.TrialState.COMPLETE
        return optuna.trial.create_trial(
            state=state,
            value=point.value if state == optuna.trial.TrialState.COMPLETE else None,
            params=self._places(point.parameters),
            distributions=self._distributions(),
            user_attrs={"point": point.label, "run_id": point.run_id, "values": dict(point.parameters)},
            intermediate_values=_steps(point.curve or {}),
        )

    def _places(self, values: Mapping[str, Any]) -> Places:
        return {name: axis.place(values[name]) for name, axis in self._axes.items()}

    def _distributions(self) -> dict[str, Any]:
        return {name: axis.distribution() for name, axis in self._axes.items()}

    def _distance(self, one: Places, other: Places) -> float:
        return sum(axis.distance(one[name], other[name]) for name, axis in self._axes.items())


class _Axis:
    """The values of a parameter: numbers by their size, others in no order."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = list(values)
        numbers = [_number(value) for value in values]
        self._is_ordered = None not in numbers
        if self._is_ordered:
            self._values.sort(key=lambda value: _number(value) or 0.0)

    def place(self, value: Any) -> int:
        return self._values.index(value)

    def distribution(self) -> IntDistribution | CategoricalDistribution:
        from optuna.distributions import CategoricalDistribution, IntDistribution

        count = len(self._values)
        return IntDistribution(0, count - 1) if self._is_ordered else CategoricalDistribution(range(count))

    def distance(self, one: int, other: int) -> float:
        """Return the square of the distance, 1 from one end to the other."""
        return ((one - other) / max(1, len(self._values) - 1)) ** 2 if self._is_ordered else float(one != other)


def _number(value: Any) -> float | None:
    try:
        known = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return known if known is not None and math.isfinite(known) else None


def _steps(curve: Mapping[str, float]) -> dict[int, float]:
    return {int(checkpoint): value for checkpoint, value in curve.items()}


def _label(trial: FrozenTrial) -> str:
    return str(trial.user_attrs.get("point"))


def _facts(trial: FrozenTrial) -> tuple[Any, ...]:
    return trial.state, trial.params, trial.value, trial.intermediate_values, trial.user_attrs
