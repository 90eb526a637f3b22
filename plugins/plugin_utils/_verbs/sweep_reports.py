# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports of many runs: of a sweep, of what differs between two sweeps, and of runs that the list has."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.errors import UserError
from .._findings.origin import FOR_ONE_RUN
from .._report.difference_page import render_difference
from .._report.numbers import differences_csv, points_csv, sweep_numbers
from .._report.sweep_page import render as render_sweep
from .._request.hints import call_with, command
from .._request.secret_options import SECRET_OPTION
from .._request.verbs import DECIDED_BY_SWEEP
from .._results.experiment import load
from .._results.summary import known_name, select, summarize
from .._sweep import difference_text, text
from .._sweep.difference import compare_sweeps
from .._sweep.outcome import best_of, judge_point, number_name, numbers_of
from .._sweep.record import FILE, SUCCEEDED, Point, Sweep
from .._sweep.record import load as load_sweep
from .._sweep.selection import select_points
from .._text.nearest import nearest, question
from .._text.table import names as names_text
from .experiments import RECORD, directories
from .list import PARAMETERS
from .report_files import STEM, places, report_files
from .step import Conclusion, Play

# Parameters of a point that say how it was launched, not what.
NOT_REPEATED = (*DECIDED_BY_SWEEP, "label", "sync")
# Runs that are named where they are left out.
MOST_NAMES = 4
# What runs of a list are compared by, as those of a sweep are.
OBJECTIVE = "loss"


def report_sweep(play: Play, name: str) -> Conclusion:
    """Report a sweep by what the records of its runs say now."""
    home, objective = Path(play.request["experiments"], name), play.parameters.get("objective")
    recorded = _read_sweep(play, "sweep", home)
    sweep = _judged(home, recorded, objective or recorded.objective)
    _check_objective(objective, {home: sweep}, [recorded.objective])
    page = render_sweep(sweep, _launch_command(play, home, sweep))
    return _conclude(play, home, _lines(play, sweep), page, points_csv(sweep), sweep_numbers(sweep))


def report_difference(play: Play, name: str, against: str) -> Conclusion:
    """Report how a sweep differs from another one over the same parameters, by the objective of the first."""
    home, other_home = (Path(play.request["experiments"], known) for known in (name, against))
    recorded, other = _read_sweep(play, "sweep", home), _read_sweep(play, "against", other_home)
    objectives = [recorded.objective, other.objective]
    sweep = _judged(home, recorded, play.parameters.get("objective") or recorded.objective)
    other = _judged(other_home, other, sweep.objective)
    _check_objective(play.parameters.get("objective"), {home: sweep, other_home: other}, objectives)
    try:
        difference = compare_sweeps(sweep, other)
    except ValueError as error:
        remedy = f"give another one, see {command('list', None, play.request.get('call'))}"
        raise UserError(clean(f"against: expected a sweep over the same parameters, but {error}; {remedy}")) from None
    page, table, numbers = render_difference(difference), differences_csv(difference), difference.to_dict()
    lines = ["", *difference_text.lines(difference, play.width)]
    return _conclude(play, home, lines, page, table, numbers, f"report_against_{against}")


def report_selection(play: Play, names: Sequence[str]) -> Conclusion:
    """Report the runs that `list` would select, as the points of a sweep over some of their values."""
    home, asked = Path(play.request["experiments"]), play.parameters
    texts = {path.name: known for path in directories(home) if (known := read_text(path / RECORD)) is not None}
    entries = select(
        [summarize(run_id, known) for run_id, known in texts.items()],
        PARAMETERS,
        asked.get("where"),
        None,
        asked.get("last"),
    )
    if not entries:
        call = play.request.get("call")
        raise UserError(clean(f"over: no run to compare in {home}; see {command('list', None, call)}"))
    selection = select_points(entries, texts, names, asked.get("objective") or OBJECTIVE)
    sweep, left_out = selection.sweep, selection.left_out
    _check_objective(asked.get("objective"), {home: sweep}, [])
    missing = " or ".join(names)
    notes = [f"Left out, as {missing} is not known: {names_text(left_out, MOST_NAMES)}."] if left_out else []
    title = f"Runs over {names_text(names)}"
    page = render_sweep(sweep, _launch_command(play, home, sweep), title, notes)
    numbers = {**sweep_numbers(sweep), "sweep_id": None, "over": list(names), "left_out": list(left_out)}
    lines = [*_lines(play, sweep), *(f"  {note}" for note in notes)]
    return _conclude(play, home, lines, page, points_csv(sweep), numbers, f"report_over_{'_'.join(names)}")


def _lines(play: Play, sweep: Sweep) -> list[str]:
    return ["", *map(clean, text.table_lines(sweep, play.width)), "", f"  {text.summary(sweep)}"]


def _conclude(
    play: Play, home: Path, lines: Sequence[str], page: str, table: str, numbers: Mapping[str, Any], stem: str = STEM
) -> Conclusion:
    """Return what a report concludes; stem is the name of its files."""
    return Conclusion(
        lines=lines,
        files=report_files(play.request, home, page, table, numbers, stem),
        document={"folder": str(home), **places(home, stem), **numbers},
        result={"report": places(home, stem)},
    )


def _read_sweep(play: Play, parameter: str, home: Path) -> Sweep:
    content = read_text(home / FILE)
    if content is None:
        names = [path.name for path in directories(home.parent) if (path / FILE).is_file()]
        remedy = f"{question(nearest(home.name, names))}see {command('list', None, play.request.get('call'))}"
        raise UserError(clean(f"{parameter}: no sweep {home.name} in {home.parent}; {remedy}"))
    try:
        return load_sweep(content)
    except ValueError as error:
        raise UserError(clean(f"{parameter}: {home / FILE}: {error}; restore it, or run the sweep again")) from None


def _judged(home: Path, sweep: Sweep, objective: str) -> Sweep:
    """Return a sweep with what the records of its runs say now, and the values of an objective.

    A run without a record keeps the value that the sweep has of it only if that is one of this objective.
    """
    is_recorded = number_name(objective) == number_name(sweep.objective)
    points = [
        judge_point(point, point.run_id, _record_of(home, point.run_id), objective)
        or (point if is_recorded else dataclasses.replace(point, value=None))
        for point in sweep.points
    ]
    return dataclasses.replace(sweep, objective=objective, points=points)


def _check_objective(asked: str | None, sweeps: Mapping[Path, Sweep], recorded: Sequence[str]) -> None:
    """Raise UserError for an objective that was asked for and that no run has; recorded are those of the sweeps."""
    points = [(home, point) for home, sweep in sweeps.items() for point in sweep.points]
    if asked is None or any(point.value is not None for _home, point in points):
        return
    texts = {point.run_id: _record_of(home, point.run_id) for home, point in points}
    known = {name for run_id, content in texts.items() for name in numbers_of(run_id, content)}
    known_name("objective", number_name(asked), {*known, *map(number_name, recorded)})


def _record_of(home: Path, run_id: str | None) -> str | None:
    return read_text(home / run_id / RECORD) if run_id else None


def _launch_command(play: Play, home: Path, sweep: Sweep) -> str | None:
    """Return the command that launches the best combination again, as its first run was launched."""
    best = best_of(sweep.points, sweep.objective)
    runs = [point for point in sweep.points if best and point.parameters == best.parameters]
    point = next((point for point in runs if point.outcome == SUCCEEDED), None)
    try:
        record = load(_record_of(home, point.run_id if point else None) or "")
    except ValueError:
        return None
    given = {
        name: as_dict(setting).get("value")
        for name, setting in as_dict(record.get("parameters")).items()
        if name not in NOT_REPEATED and as_dict(setting).get("layer") in FOR_ONE_RUN
    }
    parameters = json.dumps(given, sort_keys=True, default=str)
    if SECRET_OPTION.search(parameters):
        return None
    options = _options_of(record, point) if point else None
    call = play.request.get("call") if options is None else call_with(options, play.request)
    return clean(f"{command('launch', None, call)} {shlex.join(['-e', parameters])}")


def _options_of(record: Mapping[str, Any], point: Point) -> list[str] | None:
    """Return the options by which a run's nodes are reached, without the file in which the sweep names the run."""
    known, kept = record.get("options"), list[str]()
    if not isinstance(known, list):
        return None
    for word in map(str, known):
        if kept[-1:] == ["-e"] and word.endswith(f"/{point.label}.launch.json"):
            kept.pop()
        else:
            kept.append(word)
    return kept
