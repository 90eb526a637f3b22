# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a search among pairs: who is slow, a map of what was measured, and all nodes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.pairs import PairSample

from ..._findings.finding import Status
from ..._page.page import Header, Headline
from ..._page.page import render as render_page
from ..._page.tables import PageTable
from ..._text.table import one_line
from .. import charts
from ..charts import Figure
from . import text
from .outcome import PairsOutcome

WIDEST_NAME = 12


def render(outcome: PairsOutcome) -> str:
    """Return the page."""
    search, has_charts = outcome.search, charts.are_available()
    status: Status = "fail" if search.is_bad else "warn" if search.reason else "pass"
    notes = [f"{text.title(outcome)}.", *([] if has_charts else [charts.MISSING])]
    figures = [("nodes", str(search.nodes)), ("rounds", str(search.rounds))]
    figures += [("torch", search.torch)] if search.torch else []
    figures += [("NCCL", search.library)] if search.library else []
    headline = text.conclusion(outcome)
    content = {
        "figures": _figures(outcome) if has_charts else [],
        "findings": text.findings(outcome),
        "facts": text.facts(outcome),
        "table": PageTable.of(
            "Each node, by the better third of its measurements",
            text.HEADERS,
            text.rows(text.shown_nodes(outcome), outcome),
        ),
    }
    header = Header(outcome.run_id, Headline(status, f"{headline[:1].upper()}{headline[1:]}", notes), figures)
    return render_page("pairs.html.j2", header, content)


def _figures(outcome: PairsOutcome) -> list[Figure]:
    """Return maps of bandwidth and latency: of each pair of a few nodes, or of the slowest nodes in each round."""
    figures = []
    for name, value, is_fast in (("bandwidth in GB/s", _bandwidth, True), ("latency in us", _latency, False)):
        known = [number for sample in outcome.search.samples if (number := value(sample)) is not None]
        if known:
            figures.append(_map(outcome, name, value, (min(known), max(known)), is_fast))
    return figures


def _bandwidth(sample: PairSample) -> float | None:
    return None if sample.bandwidth is None else sample.bandwidth / 1e9


def _latency(sample: PairSample) -> float | None:
    return None if sample.latency_s is None else sample.latency_s * 1e6


def _map(
    outcome: PairsOutcome,
    name: str,
    value: Callable[[PairSample], float | None],
    scale: tuple[float, float],
    is_fast: bool,
) -> Figure:
    samples = outcome.search.samples
    named = {place for culprit in outcome.search.culprits for place in culprit.nodes}
    places = {outcome.names[place]: place for place in range(outcome.search.nodes)}
    cells: dict[tuple[int, int], list[PairSample]] = {}
    if outcome.search.nodes <= charts.MOST_COLUMNS:
        rows = columns = list(range(outcome.search.nodes))
        labels, axes = [outcome.names[place] for place in columns], ("node", "node")
        for sample in samples:
            for place in (sample.pair, sample.pair[::-1]):
                cells.setdefault(place, []).append(sample)
    else:
        rows = [places[node.node] for node in text.shown_nodes(outcome)]
        columns = sorted({sample.round for sample in samples})[: charts.MOST_COLUMNS]
        labels, axes = [str(number) for number in columns], ("round", "node")
        for sample in samples:
            for node in sample.pair:
                cells.setdefault((node, sample.round), []).append(sample)
    heat_map = charts.HeatMap(
        title=name,
        x_name=axes[0],
        y_name=axes[1],
        x_values=[one_line(label, WIDEST_NAME) for label in labels],
        y_values=[one_line(outcome.names[row], WIDEST_NAME) for row in rows],
        rows=[[_cell(cells, (row, column), value) for column in columns] for row in rows],
        scale=scale,
        number=_short,
        marked=[(x, y) for y, row in enumerate(rows) if row in named for x in range(len(columns))],
    )
    of_nodes = "of each pair of nodes" if axes[0] == "node" else "of the slowest nodes in each round"
    darker = "the darker the slower" if is_fast else "the lighter the slower"
    frame = "; what is named has a frame" if named else ""
    return Figure(f"{name} {of_nodes}, {darker}{frame}", charts.draw_heat_map(heat_map))


def _short(value: float) -> str:
    """Return a number that fits into a cell of many: `49`, `5.1`, `0.012`."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _cell(
    cells: Mapping[tuple[int, int], Sequence[PairSample]],
    place: tuple[int, int],
    value: Callable[[PairSample], float | None],
) -> float | str:
    """Return the median of what was measured, or what became of it."""
    samples = cells.get(place, ())
    known = [number for sample in samples if (number := value(sample)) is not None]
    return float(statistics.median(known)) if known else "".join(sample.outcome for sample in samples[:1])
