# SPDX-License-Identifier: GPL-3.0-or-later
"""What `report` reads of a run: its record, plan and states, the metrics of its ranks, their traces, and telemetry."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._records.layout import STATE, TELEMETRY
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._action.files import read_text
from .._findings.errors import UserError
from .._report.metrics import read_rank
from .._report.run_page import MOST_DRAWN
from .._report.run_text import ReportedRun
from .._report.series import TrainingMetrics, reduce
from .._report.telemetry.samples import NodeSamples, read_node
from .._report.telemetry.summary import RunTelemetry, summarize
from .._report.traces.trace import TOO_LARGE, TraceSummary, read_trace
from .._results.events import stand_in
from .._results.ranks import planned
from .._results.rows import number

R = TypeVar("R")

METRICS = re.compile(r"rank_([0-9]{1,7})_metrics\.jsonl")
TRACE = re.compile(r".*trace.*\.json(?:\.gz)?", re.IGNORECASE)
# A longer line is read in parts, none of which is a JSON object.
LONGEST_LINE = 1 << 20
# A record may have been edited: more ranks than nodes can have are not looked for.
MOST = 1 << 20
# Of a trace, in bytes: a tenth of that where it is compressed. A second reads some 20 MiB.
LARGEST_TRACE, COMPRESSION = 1 << 30, 10
MOST_TRACES = 256


def read_run(home: Path, run_id: str, record: Mapping[str, Any]) -> ReportedRun:
    """Read what an experiment has of a run. Raise UserError where a file cannot be read."""
    plan = as_dict(parse_json(read_text(home / "plan.json")))
    states = sorted(home.glob(f"nodes/*/{STATE}"), key=lambda path: natural(str(path)))
    runs = [RunRecord.from_dict(as_dict(parse_json(read_text(path)))) for path in states]
    size = number(record.get("world_size"))
    world_size = int(size) if size is not None and 0 < size <= MOST else 0
    replaced = as_names(record.get("replaced"))
    names = {path.parent.name: run.node for path, run in zip(states, runs, strict=True)}
    return ReportedRun(
        run_id=run_id,
        record=record,
        plan=plan,
        runs=runs,
        metrics=_read_metrics(home, world_size, _nodes_of_ranks(plan, replaced)),
        telemetry=_read_telemetry(home, names),
        traces=read_traces(home / "outputs"),
    )


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
    ranks = [_read_lines(files[rank], partial(read_rank, rank)) for rank in sorted(files)]
    return reduce(ranks, world_size, nodes, MOST_DRAWN)


def _read_telemetry(home: Path, names: Mapping[str, str | None]) -> RunTelemetry:
    """Read the samples of every node; names has those of the nodes by their directories."""
    paths = sorted(home.glob(f"nodes/*/{TELEMETRY}"), key=lambda path: natural(str(path)))
    nodes: list[NodeSamples] = []
    for path in paths:
        if path.is_file() and not path.is_symlink():
            name = names.get(path.parent.name) or f"node {path.parent.name}"
            nodes.append(_read_lines(path, partial(read_node, name)))
    return summarize(nodes)


def _read_lines(path: Path, read: Callable[[Iterator[bytes]], R]) -> R:
    def lines() -> Iterator[bytes]:
        with path.open("rb") as stream:
            yield from iter(partial(stream.readline, LONGEST_LINE), b"")

    try:
        return read(lines())
    except OSError as error:
        raise UserError(f"{path} could not be read: {error.strerror or error}") from None


def read_traces(outputs: Path) -> list[TraceSummary]:
    """Read the traces of torch's profiler, which its user has named."""
    paths = sorted(outputs.rglob("*.json*"), key=lambda path: natural(str(path)))
    traces = [path for path in paths if TRACE.fullmatch(path.name) and path.is_file() and not path.is_symlink()]
    return [_read_trace(path, str(path.relative_to(outputs))) for path in traces[:MOST_TRACES]]


def _read_trace(path: Path, name: str) -> TraceSummary:
    is_compressed = path.suffix.lower() == ".gz"
    if path.stat().st_size > LARGEST_TRACE // (COMPRESSION if is_compressed else 1):
        return TraceSummary(name, problem=TOO_LARGE)
    try:
        with gzip.open(path) if is_compressed else path.open("rb") as stream:
            return read_trace(name, partial(_read_part, stream, codecs.getincrementaldecoder("utf-8")("replace")))
    except OSError as error:
        raise UserError(f"{path} could not be read: {error.strerror or error}") from None


def _read_part(stream: io.BufferedReader | gzip.GzipFile, decoder: codecs.IncrementalDecoder, size: int) -> str:
    """Return the next part of a text, an empty one at its end, also where a compressed file is cut off or damaged."""
    text = ""
    try:
        while not text and (data := stream.read1(size)):
            text = decoder.decode(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        pass
    return text
