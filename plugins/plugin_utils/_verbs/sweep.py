# SPDX-License-Identifier: GPL-3.0-or-later
"""`sweep`: a launch for each combination of some values, or for some of them, compared in a table and on a page.

Each launch is a command of its own. What became of it is kept at once, so that the same command runs what has not
succeeded: after Ctrl-C, after a failure, and where an earlier command was killed, whose last run may still go on.
"""

from __future__ import annotations

import dataclasses
import json
import random
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._action.interrupt import Interrupt
from .._action.screen import show
from .._findings.errors import UserError
from .._findings.invocation import Invocation
from .._report import sweep_page
from .._report.numbers import points_csv, sweep_numbers
from .._request.secret_options import SECRET_OPTION
from .._request.verbs import TPE
from .._sweep import folder, outcome, record, text
from .._sweep.child import refuse_questions
from .._sweep.command import SweepCommand
from .._sweep.record import Point
from .._sweep.search import choose
from .._sweep.study import Study, require_optuna
from .report_files import report_files
from .step import Conclude, Conclusion, Play

# What a sweep needs of its launches, whatever the cluster's defaults are.
FOLLOWED = {"follow": True, "all": False, "lines": 0}


@Conclude
def run(play: Play) -> Conclusion:
    """Run what has not succeeded of a sweep: a new one, or one that the same command has begun."""
    refuse_questions("a sweep", play.cli_options)
    planned, experiments = record.plan_sweep(play.request), Path(play.request["experiments"])
    if needs_study := planned.search == TPE or bool(play.parameters["prune"]):
        require_optuna(planned.search)
    interrupt = play.interrupt or Interrupt()
    if play.is_checked:
        command = SweepCommand(play.request, interrupt, *folder.find(experiments, planned))
        whole = dataclasses.replace(command.sweep, trials=None)
        lines = [_beginning(command), "", *map(clean, text.table_lines(whole, play.width))]
        return Conclusion(lines=lines, document=_document(command))
    with folder.open_folder(experiments, planned) as (home, before), interrupt.awaited():
        command = SweepCommand(play.request, interrupt, home, before)
        folder.write(home, command.sweep)
        show([_beginning(command)])
        if needs_study and command.sweep.unfinished:
            command.study = Study(home, command.sweep)
        failure = _run_points(command, play.parameters)
        conclusion = _report(command, play.width) if failure is None else Conclusion(failure=failure)
    return dataclasses.replace(conclusion, document=_document(command), is_changed=command.sweep != before)


def _beginning(command: SweepCommand) -> str:
    return text.beginning(command.sweep, relative(command.home))


def _run_points(command: SweepCommand, settings: Mapping[str, Any]) -> UserError | None:
    """Run the points that are not done; return why none could be launched."""
    points = command.sweep.chosen
    if settings["shuffle"]:
        random.Random(command.sweep.key).shuffle(points)
    points = record.unfinished(points)
    command.count = len(points) + command.sweep.left
    points = [point for point in points if not _resume(command, point)]
    needs_check = (points or command.sweep.left) and settings["preflight"] and not _must_end(command)
    if needs_check and (failure := _check_cluster(command, settings["mode"])):
        return failure
    sync, failures = settings["sync"], 0
    for index, point in enumerate(_with_suggestions(command, points)):
        if index and settings["pause"] and not _must_end(command, failures):
            _pause(command, settings["pause"])
        if _must_end(command, failures):
            break
        ended = _launch(command, point, sync)
        sync = sync and ended.run_id is None
        failures += ended.outcome not in record.DONE
    return None


def _with_suggestions(command: SweepCommand, points: Sequence[Point]) -> Iterator[Point]:
    """Yield points, and then those that the search chooses once it knows what became of all before."""
    yield from points
    while command.sweep.left:
        yield from choose(command.sweep, command.study)


def _must_end(command: SweepCommand, failures: int = 0) -> bool:
    """Whether nothing more is to be launched: as the user says, or because a run goes on that holds the slot."""
    most = command.request["parameters"]["max_failures"]["value"]
    return command.interrupt.pressed or command.is_busy or bool(most and failures >= most)


def _resume(command: SweepCommand, point: Point) -> bool:
    """Return whether a run that outlived an earlier command is done with: it is over, or followed here."""
    if point.outcome != record.RUNNING or point.run_id is None or command.interrupt.pressed:
        return False
    if ended := command.judge(point):
        return command.keep(ended).outcome in record.DONE
    began = time.monotonic()
    document = command.watch("follow", {"run_id": point.run_id}, point, began)
    if command.read_run(point) is None:
        command.stop(point)  # what had joined when the launch was ended
        command.keep(point.forget())
        return False
    command.end(command.judge(point) or outcome.unfinish(point, outcome.first_error(document)), began)
    return True


def _check_cluster(command: SweepCommand, mode: str | None) -> UserError | None:
    """Run the checks once for all launches; return what is wrong if the cluster is not ready."""
    show(["checking the cluster"])
    with command.start("preflight", {"mode": mode} if mode else {}, "preflight", "json") as child:
        lines = []
        for line in child.lines():
            lines.append(line or "")
            if command.interrupt.pressed:
                child.interrupt()
                return None
    if not child.code:
        return None
    document, checks = as_dict(parse_json("".join(lines))), Invocation.of(command.request).playbook("preflight")
    return UserError(
        "preflight: the cluster is not ready, so nothing was launched: "
        f"{outcome.first_error(document)}; to see all of it: {checks}; to launch anyway: -e preflight=false"
    )


def _pause(command: SweepCommand, seconds: int) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and not command.interrupt.pressed:
        time.sleep(min(1.0, left))


def _launch(command: SweepCommand, point: Point, sync: bool) -> Point:
    """Launch a point and follow its run until it has ended; return what became of it."""
    given, began = record.launch_parameters(command.request, point.parameters), time.monotonic()
    run_id = record.new_run_id(command.request, point, datetime.now(UTC), secrets.token_hex(2))
    trial = command.sweep.trial_of(point)
    point = dataclasses.replace(point.forget(), outcome=record.RUNNING, run_id=run_id, trial=trial)
    command.keep(point)
    parameters = {**given, **FOLLOWED, "label": point.label, "run_id": run_id, "sync": sync}
    document = command.watch("launch", parameters, point, began)
    ended = command.judge(point)
    if ended is None and command.read_run(point) is not None:
        ended = outcome.unfinish(point, outcome.first_error(document))
    if ended is None:
        ended = point.forget() if command.interrupt.pressed else outcome.refuse(point, document)
    return command.end(ended, began)


def _report(command: SweepCommand, width: int) -> Conclusion:
    """Compare the runs: in a table and on a page, with the command that launches the best combination again."""
    request, sweep = command.request, command.sweep
    best, launch = outcome.best_of(sweep.points, sweep.objective), None
    lines = ["", *map(clean, text.table_lines(sweep, width)), ""]
    if best is not None:
        parameters = json.dumps(record.launch_parameters(request, best.parameters), sort_keys=True)
        lines.append(f"  {text.best_line(best, sweep.objective)}")
        if not SECRET_OPTION.search(parameters):
            launch = Invocation.of(request).playbook("launch", "-e", parameters)
            lines.append(f"  to launch it: {launch}")
    elif any(point.outcome == record.SUCCEEDED for point in sweep.points):
        lines.append(clean(f"  no run has a value {sweep.objective!r} to compare it by: choose -e objective=NAME"))
    summary = text.summary(sweep)
    page = sweep_page.render(sweep, launch)
    files = report_files(request, command.home, page, points_csv(sweep), sweep_numbers(sweep))
    if sweep.unfinished:
        is_any_pruned = any(point.outcome == record.PRUNED for point in sweep.points)
        rest = "have neither succeeded nor been pruned" if is_any_pruned else "have not succeeded"
        failure = UserError(f"{sweep.sweep_id}: {summary}; the same command runs those that {rest}")
        return Conclusion(lines=lines, files=files, failure=failure)
    return Conclusion(lines=lines, files=files, closing_lines=[f"  {summary}"])


def _document(command: SweepCommand) -> dict[str, Any]:
    return {"folder": str(command.home), **sweep_numbers(command.sweep)}
