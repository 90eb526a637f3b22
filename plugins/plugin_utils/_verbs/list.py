# SPDX-License-Identifier: GPL-3.0-or-later
"""`list`: what lies in the directory of experiments, as a table of runs and one of sweeps, as data, or as CSV.

No node is contacted, so it works without a cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.invocation import Invocation
from .._report.accept.outcome import FILE as ACCEPTANCE
from .._request.hints import call_with, command
from .._request.verbs import parameter_names
from .._results.listing import list_lines, minute, to_csv
from .._results.summary import NOT_LISTED, ExperimentSummary, select, summarize, unseen
from .._sweep.record import FILE as SWEEP
from .._sweep.record import load as load_sweep
from .._sweep.text import summary
from .._text.table import table
from .experiments import directories
from .step import Conclude, Conclusion, Play
from .submitted import QUEUED

MOST_UNSEEN, MOST_SWEEPS = 3, 8
PARAMETERS = [name for name in parameter_names("launch") if name not in NOT_LISTED]


@Conclude
def report(play: Play) -> Conclusion:
    """Read every experiment, and show those that were asked for."""
    request, settings, folder = play.request, play.parameters, Path(play.request["experiments"])
    folders = directories(folder)
    sweeps = sorted(path.name for path in folders if os.path.isfile(path / SWEEP))
    others = {*sweeps, *(path.name for path in folders if os.path.isfile(path / ACCEPTANCE))}
    paths = [path for path in folders if path.name not in others and request.get("run_id") in (None, path.name)]
    entries = [summarize(path.name, read_text(path / "run.yml")) for path in paths]
    chosen = select(entries, PARAMETERS, *(settings.get(name) for name in ("where", "sort", "last")))
    # A key that a user added to run.yml may hold a date.
    rows = json.loads(json.dumps([entry.to_dict() for entry in chosen], default=str))
    runs = _run_lines(chosen, len(entries), play) if entries or not sweeps else []
    return Conclusion(
        lines=[*runs, *_sweep_lines([folder / name for name in sweeps], play)],
        document={"folder": str(folder), "experiments": rows, "sweeps": sweeps},
        result={"experiments": rows, "sweeps": sweeps},
        output=to_csv(chosen).rstrip("\n") if settings.get("output") == "csv" else None,
    )


def _run_lines(chosen: Sequence[ExperimentSummary], count: int, play: Play) -> list[str]:
    request = play.request
    if not count:
        launch = command("launch", None, request.get("call"))
        return [clean(f"no experiments in {request['experiments']}; to make one: {launch}")]
    lines = [clean(line) for line in list_lines(chosen, play.width)]
    if len(chosen) < count:
        lines.append(f"{len(chosen)} of {count} runs")
    outdated = unseen(chosen)[-MOST_UNSEEN:]
    return [*lines, *[""] * bool(outdated), *(_update_line(entry, request) for entry in outdated)]


def _update_line(entry: ExperimentSummary, request: Mapping[str, Any]) -> str:
    """Return since when a run has not been looked at, and the command that does."""
    call = request.get("call") if entry.options is None else call_with(entry.options, request)
    at = f", at {minute(entry.looked)} UTC" if entry.looked else ""
    verb = "status" if entry.verdict == QUEUED else "collect"
    return clean(f"as last seen{at}; to update it: {command(verb, entry.run_id, call)}")


def _sweep_lines(paths: Sequence[Path], play: Play) -> list[str]:
    if not paths:
        return []
    rows = [(path.name, _sweep_outcome(path)) for path in paths[-MOST_SWEEPS:]]
    count = f"{len(paths)} sweep{'s' if paths[1:] else ''}" + (", the newest" if paths[MOST_SWEEPS:] else "")
    # As JSON, because a path may have blanks.
    newest = json.dumps({"launch_experiments_dir": str(paths[-1])})
    listed = Invocation.of(play.request).playbook("list", "-e", newest)
    return ["", *table([count, ""], rows, play.width), clean(f"to list the runs of the last one: {listed}")]


def _sweep_outcome(path: Path) -> str:
    try:
        return summary(load_sweep(read_text(path / SWEEP) or ""))
    except ValueError:
        return "its sweep.yml could not be read"
