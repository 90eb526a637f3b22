# SPDX-License-Identifier: GPL-3.0-or-later
"""`benchmark`: a launch of Muster's own program, and what its times say of the links between the GPUs and the nodes.

It has the steps of a launch. When that has succeeded, `report` compares what the head has measured with what the facts
of the nodes, gathered for the plan, say of their links, and with earlier benchmarks of this cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

from .._action.files import read_text, relative
from .._cluster.node import Node, read_answers
from .._findings.errors import UserError
from .._report.benchmark import page, text
from .._report.benchmark.latency import latency_limit
from .._report.benchmark.limits import Setup, environment_of, limit_of
from .._report.benchmark.links import BenchmarkNode
from .._report.benchmark.measured import FILE, Measured, read_measured
from .._report.benchmark.outcome import Benchmark, is_alike, sizes_of, to_csv
from .._request.settings import values
from .._text.plain import plain
from .._text.table import aligned, table
from .experiments import directories
from .files import json_file
from .find import shared_answer, subject
from .launch import FACTS, PLAN
from .record import OPTION
from .report_files import EXPECTED, report_page
from .step import Conclude, Conclusion, Play, Tone, WantedFile

DOCUMENT, SHEET, PAGE = "benchmark.json", "benchmark.csv", "benchmark.html"
MOST_EARLIER = 5


@Conclude
def report(play: Play) -> Conclusion:
    """Report the bandwidths and latencies, as part of their limits; fail if a result was wrong."""
    run_id, _head = subject(play)
    home = Path(play.request["experiments"], run_id)
    measured = read_measured(read_text(home / FILE))
    if measured is None or not measured.rows:
        raise UserError(f"{run_id}: {relative(home / FILE)} has no measurements: see the logs of the run")
    benchmark = _benchmark(play, run_id, measured)
    document = benchmark.to_dict()
    earlier = _earlier(play, document)
    lines: list[str | tuple[str, Tone]] = ["", text.title(benchmark), ""]
    lines += table(text.HEADERS, text.rows(benchmark.sizes), play.width)
    lines += ["", *aligned(text.facts(benchmark, earlier))]
    failure = None
    if benchmark.wrong:
        failure = UserError(f"{run_id}: {text.results(benchmark)}")
        lines.append((str(failure), Tone.ERROR))
    files = [
        replace(json_file(home / DOCUMENT, document, OPTION, EXPECTED), is_private=True),
        WantedFile(home / SHEET, to_csv(benchmark.sizes), OPTION, EXPECTED, is_private=True, has_diff=False),
        report_page(play.request, home / PAGE, page.render(benchmark, earlier), [f"  page: {relative(home / PAGE)}"]),
    ]
    return Conclusion(
        lines=lines, files=files, document={"benchmark": document}, failure=failure, is_shown=failure is not None
    )


def _benchmark(play: Play, run_id: str, measured: Measured) -> Benchmark:
    plan: Mapping[str, Any] = plain(shared_answer(play, PLAN)["plan"])
    asked, nodes = values(plan), [*plan["nodes"]]
    setup = Setup(
        asked["collective"], asked["scope"], asked["backend"], plan["fabric"]["value"], plan["nnodes"], plan["nproc"]
    )
    places = [
        BenchmarkNode(node, plan["nproc"], environment_of(plan["jobs"][node.name])) for node in _read_nodes(play, nodes)
    ]
    limit = limit_of(setup, places)
    gpus = [place.node.gpu for place in places if place.node.gpu]
    links = [link.relation for gpu in gpus[:1] for link in gpu.links]
    return Benchmark(
        run_id=run_id,
        created=str(plan["created"]),
        cluster=plan.get("cluster"),
        setup=setup,
        dtype=asked["dtype"],
        iterations=asked["iterations"],
        warmup=asked["warmup"],
        torch=measured.torch,
        library=measured.library,
        limit=limit,
        latency=latency_limit(setup, any(link.startswith("NV") or link == "XGMI" for link in links)),
        sizes=sizes_of(setup, measured, limit),
    )


def _read_nodes(play: Play, names: list[str]) -> list[Node]:
    """Return the nodes of the run, by what they answered before the plan."""
    answers = {name: {FACTS: plain(play.read_answer(name, FACTS))} for name in names}
    return [node for node in read_answers(answers, names, FACTS, {}) if isinstance(node, Node)]


def _earlier(play: Play, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents of the newest earlier benchmarks that are of the same kind, the newest first."""
    paths = [path / DOCUMENT for path in directories(Path(play.request["experiments"]))]
    known = [as_dict(parse_json(read_text(path))) for path in paths if path.is_file()]
    alike = [run for run in known if is_alike(run, document) and run.get("run_id") != document["run_id"]]
    return sorted(alike, key=lambda run: str(run.get("created")), reverse=True)[:MOST_EARLIER]
