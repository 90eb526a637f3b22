# SPDX-License-Identifier: GPL-3.0-or-later
"""`import`: the experiments and sweeps of the aorta scripts join those of this controller. No node is contacted.

Each gets a record here, with links to its logs and outputs, which stay where they are. The same command again brings
what has been added there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text, relative
from .._findings.errors import UserError
from .._findings.invocation import Invocation
from .._results import aorta, experiment
from .._sweep import aorta as aorta_sweep
from .._sweep import record as sweep_record
from .._sweep.outcome import judge_point
from .experiments import RECORD, directories
from .record import OPTION
from .step import Conclude, Conclusion, Play, Symlink, WantedFile

# Logs and metrics may be long, and what is read of them stands at their beginning and at their end.
END_BYTES = 256 * 1024
MOST_SHOWN = 8


@frozen
class Import:
    """What one directory becomes."""

    name: str
    files: list[WantedFile]
    links: list[Symlink]


@Conclude
def import_all(play: Play) -> Conclusion:
    """Make a record for each directory that the scripts have left in `source`."""
    folder = Path(play.request["experiments"])
    source = Path(os.path.abspath(os.path.expanduser(play.parameters["source"])))
    if not source.is_dir():
        raise UserError(
            clean(f"source: {source} is not a directory; give the one that has the multinode_* and sweep_* directories")
        )
    runs: list[Import] = []
    sweeps: list[Import] = []
    skipped = []
    for path in sorted(directories(source)):
        try:
            is_sweep = bool(_point_paths(path))
            (sweeps if is_sweep else runs).append((_import_sweep if is_sweep else _import_run)(path, folder))
        except ValueError as error:
            skipped.append({"name": path.name, "why": str(error)})
    imports = [*runs, *sweeps]
    verb = "would import" if play.is_checked else "imported"
    counts = [f"{len(items)} {word}{'s' * (len(items) != 1)}" for items, word in ((runs, "run"), (sweeps, "sweep"))]
    lines = [f"{verb} {' and '.join(counts)} from {relative(source)}"]
    lines += [f"skipped {item['name']}: {item['why']}" for item in skipped[:MOST_SHOWN]]
    lines += [f"skipped {len(skipped) - MOST_SHOWN} more; -e output=json shows all"] * bool(skipped[MOST_SHOWN:])
    if imports:
        lines.append(f"to list them: {Invocation.of(play.request).playbook('list')}")
    result = {"experiments": [run.name for run in runs], "sweeps": [sweep.name for sweep in sweeps]}
    document = {
        "source": str(source),
        "folder": str(folder),
        **result,
        "skipped": skipped,
    }
    return Conclusion(
        files=[file for item in imports for file in item.files],
        links=[link for item in imports for link in item.links],
        closing_lines=[clean(line) for line in lines],
        document=document,
        result=result,
    )


def _import_run(path: Path, folder: Path) -> Import:
    info = aorta.parse_info(read_text(path / aorta.INFO) or "")
    output = min(path.glob("*thread_*channels"), default=path)
    # The master's copy of a node's log is cut where ssh ended; what older scripts wrote on the node is not.
    logs: dict[str, list[str]] = {}
    for log in [*sorted((path / "logs").glob("node_*.txt")), *sorted(output.glob("node_*_output.log"))]:
        logs.setdefault("_".join(log.name.split("_")[:2]), []).append(_read_ends(log))
    nodes = aorta.in_rank_order(aorta.parse_node_log("\n".join(texts), name) for name, texts in logs.items())
    record = aorta.record_of(path.name, str(path), info, nodes, _read_metrics(output), _to_utc)
    return _wanted(folder / path.name, record, {"logs": path / "logs", "outputs": output})


def _import_sweep(path: Path, folder: Path) -> Import:
    logs = sorted(path.glob(aorta_sweep.LOGS))
    log = "\n".join(read_text(log) or "" for log in logs)
    points = aorta_sweep.points_of([path.name, *(log.name for log in logs)], _point_paths(path), log)
    home, created = folder / path.name, None
    files: list[WantedFile] = []
    links: list[Symlink] = []
    outcomes: dict[str, sweep_record.Point] = {}
    for number, point in enumerate(points, start=1):
        output = path / point.path
        metrics, nodes = _read_metrics(output), [point.node]
        record = aorta.record_of(point.run_id, str(output), aorta.AortaInfo(), nodes, metrics, _to_utc)
        run = _wanted(home / point.run_id, record, {"logs": output, "outputs": output})
        files, links, created = [*files, *run.files], [*links, *run.links], record["created"]
        pending = aorta_sweep.point_of(number, point)
        outcomes[point.run_id] = judge_point(pending, point.run_id, run.files[0].text, "loss") or pending
    sweep = aorta_sweep.sweep_of(path.name, created, points, outcomes)
    record_file = home / sweep_record.FILE
    return Import(path.name, [*files, WantedFile(record_file, sweep_record.dump(sweep), OPTION)], links)


def _wanted(home: Path, record: Mapping[str, Any], links: Mapping[str, Path]) -> Import:
    text = read_text(home / RECORD)
    before = experiment.load(text) if text else {}
    if before and aorta.SOURCE not in before:
        raise ValueError(f"{relative(home)} has the run of this name, which was launched from here")
    merged = aorta.merge_record(before, record) if before else record
    file = WantedFile(home / RECORD, experiment.dump(merged), OPTION, is_private=True)
    return Import(
        home.name,
        [file],
        [
            # An experiment in its own place has its files there already.
            Symlink(home / name, str(path), False)
            for name, path in links.items()
            if path != home
        ],
    )


def _point_paths(path: Path) -> list[str]:
    return [str(point.relative_to(path)) for point in path.glob("*thread/nccl_*channels") if point.is_dir()]


def _read_metrics(output: Path) -> str:
    return _read_ends(output / "rank_00_metrics.jsonl")


def _read_ends(path: Path) -> str:
    """Return the first and the last part of a text, empty where there is none."""
    try:
        with path.open("rb") as stream:
            first = stream.read(END_BYTES)
            stream.seek(max(stream.tell(), os.fstat(stream.fileno()).st_size - END_BYTES))
            return (first + stream.read()).decode(errors="replace")
    except OSError:
        return ""


def _to_utc(stamp: str) -> str | None:
    """Return a time of this machine's zone, which is that of the scripts, in UTC; None for one that does not exist."""
    try:
        local = datetime.strptime(stamp, aorta.STAMP_FORMAT)
        return local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return None
