# SPDX-License-Identifier: GPL-3.0-or-later
"""`report`: a page of a run or of a sweep, from what was collected, with its numbers beside it. It contacts no node."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.errors import UserError
from .._findings.origin import FOR_ONE_RUN
from .._report.numbers import curves_csv, points_csv, run_numbers, sweep_numbers, telemetry_csv
from .._report.run_page import render_run
from .._report.run_text import lines
from .._report.sweep_page import render as render_sweep
from .._request.hints import call_with, command
from .._request.secret_options import SECRET_OPTION
from .._request.verbs import DECIDED_BY_SWEEP
from .._results.experiment import load
from .._sweep import text
from .._sweep.outcome import best_of, judge_point
from .._sweep.record import FILE, SUCCEEDED, Point, Sweep
from .._sweep.record import load as load_sweep
from .._text.nearest import nearest, question
from .experiments import directories, newest, read_record
from .report_files import places, report_files, telemetry_file
from .report_inputs import read_run
from .step import Conclude, Conclusion, Play

# Parameters of a point that say how it was launched, not what.
NOT_REPEATED = (*DECIDED_BY_SWEEP, "label", "sync")


@Conclude
def write(play: Play) -> Conclusion:
    """Write the report of a sweep, of the run that is named, or of the newest run."""
    name = play.parameters.get("sweep")
    return _report_sweep(play, str(name)) if name else _report_run(play)


def _report_run(play: Play) -> Conclusion:
    request = play.request
    run_id = request.get("run_id") or newest(play, 1)[0]
    home = Path(request["experiments"], run_id)
    run = read_run(home, run_id, read_record(play, run_id))
    numbers = run_numbers(run)
    document = {"folder": str(home), **places(home), **numbers}
    files = report_files(request, home, render_run(run), curves_csv(run.metrics.curves), numbers)
    if run.telemetry.hosts:
        files.insert(0, telemetry_file(home, telemetry_csv(run.telemetry)))
    return Conclusion(lines=[*map(clean, lines(run))], files=files, document=document, result={"report": places(home)})


def _report_sweep(play: Play, name: str) -> Conclusion:
    request = play.request
    home = Path(request["experiments"], name)
    sweep = _judged(home, _read_sweep(play, home), play.parameters.get("objective"))
    numbers = sweep_numbers(sweep)
    document = {"folder": str(home), **places(home), **numbers}
    page = render_sweep(sweep, _launch_command(play, home, sweep))
    return Conclusion(
        lines=["", *map(clean, text.table_lines(sweep, play.width)), "", f"  {text.summary(sweep)}"],
        files=report_files(request, home, page, points_csv(sweep), numbers),
        document=document,
        result={"report": places(home)},
    )


def _read_sweep(play: Play, home: Path) -> Sweep:
    content = read_text(home / FILE)
    if content is None:
        names = [path.name for path in directories(home.parent) if (path / FILE).is_file()]
        remedy = f"{question(nearest(home.name, names))}see {command('list', None, play.request.get('call'))}"
        raise UserError(clean(f"sweep: no sweep {home.name} in {home.parent}; {remedy}"))
    try:
        return load_sweep(content)
    except ValueError as error:
        raise UserError(clean(f"sweep: {home / FILE}: {error}; restore it, or run the sweep again")) from None


def _judged(home: Path, sweep: Sweep, objective: str | None) -> Sweep:
    """Return a sweep with what the records of its runs say now, and the values of an objective."""
    sweep = dataclasses.replace(sweep, objective=objective or sweep.objective)
    points = [
        judge_point(point, point.run_id, _record_of(home, point.run_id), sweep.objective) or point
        for point in sweep.points
    ]
    return dataclasses.replace(sweep, points=points)


def _record_of(home: Path, run_id: str | None) -> str | None:
    return read_text(home / run_id / "run.yml") if run_id else None


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
