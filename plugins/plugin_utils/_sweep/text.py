# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep as a person reads it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._request.conditions import parse_order, text_of
from .._results.progress import Sample, status_text
from .._results.rows import duration, number_text
from .._text.table import one_line, table
from .outcome import Best, best_of
from .record import PENDING, RUNNING, SUCCEEDED, Point, Sweep, count_outcomes

WIDEST = 32
# The values of a combination, as they are typed.
Key = tuple[str, ...]
TOO_LATE = "it had ended before it could be stopped"


def outcome_text(outcome: str) -> str:
    """Return an outcome as a person reads it."""
    return {PENDING: "not run", RUNNING: "still running"}.get(outcome, outcome.replace("_", " "))


def values_text(parameters: Mapping[str, Any]) -> str:
    """Return the values of a point: `channels=28 threads=256`."""
    return " ".join(f"{name}={one_line(value_text(value), WIDEST)}" for name, value in parameters.items())


@frozen
class Position:
    """Which run of how many a command is at; the seconds that its runs took, and that this one has taken."""

    index: int
    count: int
    times: Sequence[float] = ()
    elapsed_s: float = 0.0

    @property
    def left_s(self) -> float | None:
        """About how long the rest takes, None before one has ended."""
        if not self.times:
            return None
        mean = sum(self.times) / len(self.times)
        return mean * (self.count - self.index) + max(0.0, mean - self.elapsed_s)


def title(point: Point, position: Position) -> str:
    """Return which run of how many a point is, and its values: `run 2 of 8: channels=28 threads=256`."""
    repeat = f" (repeat {point.repeat})" if point.repeat > 1 else ""
    return clean(f"run {position.index} of {position.count}: {values_text(point.parameters)}{repeat}")


def progress_text(point: Point, position: Position, sample: Mapping[str, Any], best: str) -> str:
    """Return the line that is redrawn while a point runs; sample is the last one of its launch, best a text."""
    known = Progress.optional(sample.get("progress"))
    now = Sample(clean(sample.get("phase") or "starting"), 0, 0.0, known, begun=True)
    left = position.left_s
    # What changes comes first: a terminal cuts a long line.
    words = [
        f"run {position.index} of {position.count}",
        status_text(now) if sample else now.phase,
        f"about {duration(left)} left" if left else "",
        best,
        values_text(point.parameters),
    ]
    return clean(" · ".join(filter(None, words)))


def ended_line(point: Point, position: Position, objective: str, was_to_stop: bool = False) -> str:
    """Return what became of a point, in one line; was_to_stop: its run was asked to stop."""
    value = f", {parse_order(objective).name} {number_text(point.value)}" if point.value is not None else ""
    why = f": {point.why}" if point.why else ""
    took = f" after {duration(point.elapsed_s)}" if point.elapsed_s is not None else ""
    late = f"; {TOO_LATE}" if was_to_stop and point.outcome == SUCCEEDED else ""
    return clean(f"{title(point, position)} {outcome_text(point.outcome)}{took}{value}{why}{late}")


def table_lines(sweep: Sweep, width: int) -> list[str]:
    """Return the table of all points, as wide as it must be for the run IDs."""
    headers, rows = headers_and_rows(sweep)
    return table(headers, rows, width)


def headers_and_rows(sweep: Sweep) -> tuple[list[str], list[list[str]]]:
    """Return the headers and the rows of the table of all points."""
    name = parse_order(sweep.objective).name
    headers = ["trial", "point", "repeat", *sweep.axes, "outcome", "time", name, "run id", "why"]
    repeats = any(point.repeat > 1 for point in sweep.points)
    rows = [
        [
            str(sweep.tried[point.number]) if sweep.trials else "",
            str(point.number),
            str(point.repeat) if repeats else "",
            *(one_line(value_text(value), WIDEST) for value in point.parameters.values()),
            "" if point.outcome == PENDING else outcome_text(point.outcome),
            duration(point.elapsed_s) if point.elapsed_s is not None else "",
            number_text(point.value) if point.value is not None else "",
            point.run_id or "",
            point.why or "",
        ]
        for point in sweep.chosen
    ]
    return headers, rows


def summary(sweep: Sweep) -> str:
    """Return how many runs have which outcome: `2 of 4 runs succeeded, 1 failed, 1 timed out`."""
    counts = count_outcomes(sweep.chosen)
    if sweep.left:
        counts[PENDING] = counts.get(PENDING, 0) + sweep.left
    succeeded, total = counts.pop(SUCCEEDED, 0), len(sweep.chosen) + sweep.left
    others = [f"{count} {outcome_text(outcome)}" for outcome, count in counts.items()]
    return ", ".join([f"{succeeded} of {total} run{'s' if total > 1 else ''} succeeded", *others])


def beginning(sweep: Sweep, folder: str) -> str:
    """Return what a command is about to do."""
    count, total = sweep.unfinished, len(sweep.chosen) + sweep.left
    runs = f"{count} run{'' if count == 1 else 's'}"
    part = runs if count == total else f"{runs} of {total}, as the others are done"
    known = len({point.number for point in sweep.points})
    search = f", {sweep.trials} of {known} combinations by {sweep.search}" if sweep.trials else ""
    return clean(f"sweep {sweep.sweep_id}{search}: {part if count else 'all runs are done'}; {folder}")


def best_value(sweep: Sweep) -> str:
    """Return the best value so far, nothing before there is one."""
    best = best_of(sweep.points, sweep.objective)
    return f"best {parse_order(sweep.objective).name} {number_text(best.value)}" if best else ""


def best_line(best: Best, objective: str) -> str:
    """Return the best combination in one line."""
    return clean(f"best {parse_order(objective).name}: {best_text(best)}")


def best_text(best: Best) -> str:
    """Return the best value, the combination that has it, and how many others have it."""
    least, greatest = number_text(best.least), number_text(best.greatest)
    spread = f" (mean of {best.count}, {least} to {greatest})" if best.count > 1 else ""
    ties = f", and with {best.ties} other combination{'s' if best.ties > 1 else ''}" if best.ties else ""
    return f"{number_text(best.value)}{spread} with {values_text(best.parameters)}{ties}"


def key_of(parameters: Mapping[str, Any], names: Iterable[str] | None = None) -> Key:
    """Return what two combinations with the same values have in common; names are those that count, in their order."""
    return tuple(value_text(parameters.get(name)) for name in (parameters if names is None else names))


def value_text(value: Any) -> str:
    """Return a value as it is typed."""
    return shlex.join(map(str, value)) if isinstance(value, list) else text_of(value)
