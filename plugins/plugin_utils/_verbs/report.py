# SPDX-License-Identifier: GPL-3.0-or-later
"""`report`: a page of a run, of a sweep, of what differs between two, or of some runs, with its numbers beside it.

It reads what was collected, and contacts no node.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._report.numbers import curves_csv, run_numbers, telemetry_csv
from .._report.run_page import render_run
from .._report.run_text import lines
from .experiments import newest, read_record
from .report_files import places, report_files, telemetry_file
from .report_inputs import read_run
from .step import Conclude, Conclusion, Play
from .sweep_reports import report_difference, report_selection, report_sweep


@Conclude
def write(play: Play) -> Conclusion:
    """Write the report of a sweep, of some runs, of the run that is named, or of the newest run."""
    asked = play.parameters
    if asked.get("against"):
        return report_difference(play, str(asked["sweep"]), str(asked["against"]))
    if asked.get("sweep"):
        return report_sweep(play, str(asked["sweep"]))
    return report_selection(play, asked["over"]) if asked.get("over") else _report_run(play)


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
