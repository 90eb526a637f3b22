# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a page, drawn by Matplotlib as SVG. The page's own style colors text and lines, light or dark."""

from __future__ import annotations

import importlib
import io
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._results.rows import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = (
    "There are no figures, because the Python of the controller does not have Matplotlib; to install it: "
    f"{sys.executable} -m pip install matplotlib"
)
# Inches of 72 points: 520 CSS pixels, which a phone shows at two thirds.
WIDTH, ROW, FRAME = 5.4, 0.46, 0.9
MOST_COLUMNS, MOST_ROWS = 12, 24
COLORS = "viridis"
# Where white and black have the same contrast: (1 + 0.05) / (x + 0.05) = (x + 0.05) / 0.05.
MIDDLE_LUMINANCE = 0.179
# Differs from all of these, and from both papers.
FRAME_COLOR = "#e8590c"
# A dollar sign does not begin a formula.
PLAIN: Any = {"parse_math": False}
# Black lines are drawn in the color of the text, whatever it is.
INK = re.compile("(?<=stroke: )#000000|(?<=fill: )#000000")
STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
# Two figures of a page have parts of the same names.
GROUP = re.compile(r'<g id="[^"]*"')
SIZE = re.compile(r'(<svg [^>]*?)width="[0-9.]+pt" height="[0-9.]+pt"')


@frozen
class Figure:
    """A figure of a page, as SVG."""

    caption: str
    svg: str


@frozen
class HeatMap:
    """The values of two parameters' combinations, rows[y][x]; a combination without a value has a text instead.

    scale has the values of the first and the last of the colors, by their name in Matplotlib; number writes a value;
    marked are the positions (x, y) with a frame, and bracketed those whose value is in brackets.
    """

    title: str
    x_name: str
    y_name: str
    x_values: Sequence[str]
    y_values: Sequence[str]
    rows: Sequence[Sequence[float | str]]
    scale: tuple[float, float]
    number: Callable[[float], str]
    marked: Sequence[tuple[int, int]] = ()
    bracketed: Sequence[tuple[int, int]] = ()
    colors: str = COLORS


@frozen
class DotChart:
    """The values of all runs of each combination, a row for each."""

    title: str
    names: Sequence[str]
    values: Sequence[Sequence[float]]


def are_available() -> bool:
    """Return whether figures can be drawn."""
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError:
        return False
    return True


def draw_heat_map(data: HeatMap) -> str:
    """Return the SVG of a heat map, with the value, or the text, in each cell."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    low, high = data.scale
    if low == high:  # one value has the color in the middle
        low, high = low - 1, high + 1
    with new_figure(data.title, FRAME + ROW * len(data.y_values)) as (axes, svg):
        colors = [[value if isinstance(value, float) else float("nan") for value in row] for row in data.rows]
        # Cells as paths: the page allows no images.
        axes.pcolormesh(colors, cmap=data.colors, vmin=low, vmax=high, edgecolors="face")
        for y, row in enumerate(data.rows):
            for x, value in enumerate(row):
                text = data.number(value) if isinstance(value, float) else value
                text = f"({text})" if (x, y) in data.bracketed else text
                color = "#000000"
                if isinstance(value, float):
                    color = _ink_on(colormaps[data.colors]((value - low) / (high - low)))
                axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color=color, **PLAIN)
        for corner in data.marked:
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=FRAME_COLOR, linewidth=2.5, clip_on=False))
        axes.set_xticks([x + 0.5 for x in range(len(data.x_values))], data.x_values, **PLAIN)
        axes.set_yticks([y + 0.5 for y in range(len(data.y_values))], data.y_values, **PLAIN)
        axes.set_xlabel(data.x_name, **PLAIN)
        axes.set_ylabel(data.y_name, **PLAIN)
        axes.invert_yaxis()
    return svg[0]


def _ink_on(color: Sequence[float]) -> str:
    """Return white or black, whichever can be read better on a color, by its relative luminance (WCAG 2.2)."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color]
    luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return "#ffffff" if luminance < MIDDLE_LUMINANCE else "#111111"


def draw_dot_chart(data: DotChart) -> str:
    """Return the SVG of a chart with a dot for each run and a line for the mean of each combination."""
    names, values = data.names[:MOST_ROWS], data.values[:MOST_ROWS]
    with new_figure(f"{data.title}, dots", FRAME + 0.28 * len(names)) as (axes, svg):
        for y, known in enumerate(values):
            axes.plot(known, [y] * len(known), "o", color="#4c70b0", alpha=0.8)
            if known:
                axes.plot([sum(known) / len(known)] * 2, [y - 0.3, y + 0.3], "-", color="#000000")
        axes.set_yticks(range(len(names)), names, **PLAIN)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="x", color="#808080", alpha=0.3)
        axes.set_xlabel(data.title, **PLAIN)
    return svg[0]


def draw_trial_chart(title: str, known: Sequence[tuple[int, float]], best: Callable[..., float], last: int) -> str:
    """Return the SVG of a chart of runs, as (trial, value) in their order, with a line for the best value so far."""
    from matplotlib.ticker import MaxNLocator

    with new_figure(f"{title}, trials", FRAME + 6 * ROW) as (axes, svg):
        numbers, values = [number for number, _value in known], [value for _number, value in known]
        axes.plot(numbers, values, "o", color="#4c70b0", alpha=0.8)
        axes.step(numbers, list(itertools.accumulate(values, best)), "-", where="post", color="#000000")
        axes.set_xlim(0.5, last + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y", color="#808080", alpha=0.3)
        axes.set_xlabel("trial")
        axes.set_ylabel(title, **PLAIN)
    return svg[0]


def tick_text(value: float, _place: float) -> str:
    """Return the label of a tick: without a factor at the end of the axis."""
    return number_text(value)


@contextmanager
def new_figure(title: str, height: float) -> Iterator[tuple[Axes, list[str]]]:
    """Yield axes to draw on, and a list that has the SVG afterwards."""
    # Importing Matplotlib takes half a second, and few commands draw.
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    svg: list[str] = []
    # Texts stay texts; the names of a figure's parts are made of its title, so that two on a page do not share them.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 10, "axes.spines.top": False}
    with rc_context(), warnings.catch_warnings():
        rcdefaults()  # whatever the user's own are
        rcParams.update({**settings, "axes.spines.right": False})
        warnings.simplefilter("ignore")  # of glyphs that its fonts lack, which the browser has
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure.subplots(), svg
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg.append(_for_page(stream.getvalue()))


def _for_page(text: str) -> str:
    """Return an SVG as a part of a page: without what only a file needs, and in the colors of the page."""
    text = text[text.index("<svg ") :]
    text = SIZE.sub(r'\1class="chart"', METADATA.sub("", STYLE.sub("", text)), count=1)
    return INK.sub("currentColor", GROUP.sub("<g", text))
