# SPDX-License-Identifier: GPL-3.0-or-later
"""`report`: a page of a run, of a sweep, of what differs between two, or of some runs, with its numbers beside it.

It reads what was collected, and contacts no node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.order import natural
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.errors import UserError
from .._report.metrics import RankMetrics, read_rank
from .._report.numbers import curves_csv, run_numbers
from .._report.run_page import MOST_DRAWN, render_run
from .._report.run_text import ReportedRun, lines
from .._report.series import TrainingMetrics, reduce
from .._results.events import stand_in
from .._results.ranks import planned
from .._results.rows import number
from .experiments import newest, read_record
from .report_files import places, report_files
from .step import Conclude, Conclusion, Play
from .sweep_reports import report_difference, report_selection, report_sweep

METRICS = re.compile(r"rank_([0-9]{1,7})_metrics\.jsonl")
# A longer line is read in parts, none of which is a JSON object.
LONGEST_LINE = 1 << 20
# A record may have been edited: more ranks than nodes can have are not looked for.
MOST = 1 << 20


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
    run = _read_run(home, run_id, read_record(play, run_id))
    numbers = run_numbers(run)
    document = {"folder": str(home), **places(home), **numbers}
    files = report_files(request, home, render_run(run), curves_csv(run.metrics), numbers)
    return Conclusion(lines=[*map(clean, lines(run))], files=files, document=document, result={"report": places(home)})


def _read_run(home: Path, run_id: str, record: Mapping[str, Any]) -> ReportedRun:
    plan = as_dict(parse_json(read_text(home / "plan.json")))
    states = sorted(home.glob("nodes/*/state.json"), key=lambda path: natural(str(path)))
    runs = [RunRecord.from_dict(as_dict(parse_json(read_text(path)))) for path in states]
    size = number(record.get("world_size"))
    world_size = int(size) if size is not None and 0 < size <= MOST else 0
    replaced = as_names(record.get("replaced"))
    return ReportedRun(run_id, record, plan, runs, _read_metrics(home, world_size, _nodes_of_ranks(plan, replaced)))


def _nodes_of_ranks(plan: Mapping[str, Any], replaced: Mapping[str, str]) -> dict[int, str]:
    parts = (planned(plan) or {}).items()
    return {
        part.first_rank + local: stand_in(node, replaced)
        for node, part in parts
        if part.first_rank is not None
        for local in range(part.nproc)
    }


def _read_metrics(home: Path, world_size: int, nodes: Mapping[int, str]) -> TrainingMetrics:
    files: dict[int, Path] = {}
    for path in [*(home / "outputs").glob("*_metrics.jsonl"), *(home / "outputs").glob("node_*/*_metrics.jsonl")]:
        match = METRICS.fullmatch(path.name)
        if match and path.is_file() and not path.is_symlink():
            files.setdefault(int(match[1]), path)
    return reduce([_read_rank(rank, files[rank]) for rank in sorted(files)], world_size, nodes, MOST_DRAWN)


def _read_rank(rank: int, path: Path) -> RankMetrics:
    def read_lines() -> Iterator[bytes]:
        with path.open("rb") as stream:
            yield from iter(partial(stream.readline, LONGEST_LINE), b"")

    try:
        return read_rank(rank, read_lines())
    except OSError as error:
        raise UserError(f"{path} could not be read: {error.strerror or error}") from None
