# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the difference of two sweeps: a map of the changes where two parameters vary, and all combinations."""

from __future__ import annotations

from .._findings.finding import Status
from .._page.page import Header, Headline
from .._page.page import render as render_page
from .._page.tables import PageTable
from .._request.conditions import parse_order
from .._sweep import difference_text
from .._sweep.difference import WITHIN_NOISE, WORSE, CombinationDifference, SweepDifference
from .._sweep.difference_text import change_text, unchanged_text
from .._sweep.text import key_of
from . import charts
from .charts import Figure
from .sweep_page import label_of

# Red is worse and blue is better, which people who see no green can tell apart.
BLUE_IS_MORE, BLUE_IS_LESS = "RdBu", "RdBu_r"


def render_difference(difference: SweepDifference) -> str:
    """Return the page."""
    status: Status = "warn" if difference.count(WORSE) else "pass"
    notes = [f"Noise: {difference_text.noise_text(difference)}.", *([] if charts.are_available() else [charts.MISSING])]
    name = parse_order(difference.objective).name
    content = {
        "figures": [_heat_map(difference)] if _has_map(difference) and charts.are_available() else [],
        "table": PageTable.of("All combinations", *difference_text.headers_and_rows(difference)),
    }
    title = f"{name}: {difference.sweep_id} against {difference.against}"
    headline = Headline(status, difference_text.summary(difference), notes)
    return render_page("difference.html.j2", Header(title, headline), content)


def _varied(difference: SweepDifference) -> list[str]:
    return [name for name, values in difference.axes.items() if len(values) > 1]


def _has_map(difference: SweepDifference) -> bool:
    """Return whether there are changes over two parameters, with as many values as can be read."""
    sizes = [len(difference.axes[name]) for name in _varied(difference)]
    has_changes = any(known.change_percent is not None for known in difference.combinations)
    return has_changes and len(sizes) == 2 and sizes[0] <= charts.MOST_COLUMNS and sizes[1] <= charts.MOST_ROWS


def _heat_map(difference: SweepDifference) -> Figure:
    """Return the map of the changes, in which no change has the color in the middle."""
    order, names = parse_order(difference.objective), _varied(difference)
    known = {key_of(item.parameters, names): item for item in difference.combinations}
    most = max(abs(item.change_percent or 0.0) for item in known.values()) or 1.0
    x_values, y_values = (difference.axes[name] for name in names)
    cells = [[known.get(key_of(dict(zip(names, (x, y), strict=True)), names)) for x in x_values] for y in y_values]
    heat_map = charts.HeatMap(
        title=f"{order.name}, change",
        x_name=names[0],
        y_name=names[1],
        x_values=[label_of(value) for value in x_values],
        y_values=[label_of(value) for value in y_values],
        rows=[[_cell(item) for item in row] for row in cells],
        scale=(-most, most),
        number=change_text,
        bracketed=[
            (x, y) for y, row in enumerate(cells) for x, item in enumerate(row) if item and item.effect == WITHIN_NOISE
        ],
        colors=BLUE_IS_MORE if order.descending else BLUE_IS_LESS,
    )
    caption = (
        f"change of {order.name} in percent against {difference.against}: blue is better, red is worse, and what is in "
        "brackets is within its noise; added: only in the sweep, absent: only in the other"
    )
    return Figure(caption, charts.draw_heat_map(heat_map))


def _cell(known: CombinationDifference | None) -> float | str:
    if known is None:
        return ""
    return unchanged_text(known) if known.change_percent is None else known.change_percent
