# SPDX-License-Identifier: GPL-3.0-or-later
"""`compare`: what differs between runs of this controller, and by how much more than noise. No node is contacted."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.errors import UserError
from .._request.run_ids import FEWEST
from .._results import comparison_text
from .._results.compared import ComparedRun, read_run
from .._results.comparison import compare
from .._sweep.record import FILE as SWEEP
from .._sweep.record import SUCCEEDED
from .._sweep.record import load as load_sweep
from .experiments import RECORD, newest, read_record
from .step import Conclude, Conclusion, Play


@Conclude
def report(play: Play) -> Conclusion:
    """Compare the runs that are named, or the newest ones, with the first of them."""
    folder, settings = Path(play.request["experiments"]), play.parameters
    run_ids = settings.get("runs") or newest(play, settings["last"])
    if len(run_ids) < FEWEST:
        raise UserError(clean(f"{folder}: expected {FEWEST} runs to compare, saw {len(run_ids)}: {run_ids[0]}"))
    repeats = [_read(play, run_id) for run_id in _repeats(folder, run_ids)]
    comparison = compare([_read(play, run_id) for run_id in run_ids], repeats)
    document = {"folder": str(folder), **comparison.to_dict()}
    lines = [clean(line) for line in comparison_text.lines(comparison, play.width)]
    return Conclusion(lines=lines, document=document, result={"comparison": document})


def _read(play: Play, run_id: str) -> ComparedRun:
    plan = parse_json(read_text(Path(play.request["experiments"], run_id, "plan.json")))
    return read_run(run_id, read_record(play, run_id), plan)


def _repeats(folder: Path, run_ids: list[str]) -> list[str]:
    """Return the runs of a sweep's directory with the same values as some of its runs, without these."""
    try:
        points = load_sweep(read_text(folder / SWEEP) or "").points
    except ValueError:
        return []
    numbers = {point.number for point in points if point.run_id in run_ids}
    repeats = [point for point in points if point.number in numbers and point.outcome == SUCCEEDED]
    return [
        str(point.run_id)
        for point in repeats
        if point.run_id not in run_ids and (folder / str(point.run_id) / RECORD).is_file()
    ]
