# SPDX-License-Identifier: GPL-3.0-or-later
"""The curves of a benchmark: its bus bandwidth against the limit and earlier runs, and its latencies."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from ..._request.byte_size import size_text
from ..charts import PLAIN, new_figure, tick_text

HEIGHT = 3.2  # inches
MOST_TICKS = 8
# A logarithmic axis up to a hundredfold has labels between its powers of ten, of which there may be one alone.
DECADES = 100
COLOR, LIMIT_COLOR, EARLIER_COLOR, SECOND_COLOR = "#4c70b0", "#e8590c", "#808080", "#2b8a3e"
Points = Sequence[tuple[int, float]]


@frozen
class SizeCurve:
    """A line of a figure: a point for each size; drawn thin if it is of an earlier run."""

    name: str
    points: Points
    is_earlier: bool = False


@frozen
class SizeFigure:
    """Curves over the size; limit and least are horizontal lines if known. The vertical axis may be logarithmic."""

    title: str
    curves: Sequence[SizeCurve]
    limit: float | None = None
    is_logarithmic: bool = False
    least: float | None = None


def draw_curves(data: SizeFigure) -> str:
    """Return the SVG of curves over sizes, which are on a logarithmic axis."""
    from matplotlib.ticker import LogLocator

    with new_figure(data.title, HEIGHT) as (axes, svg):
        colors = iter((COLOR, SECOND_COLOR))
        for curve in data.curves:
            sizes, values = zip(*curve.points, strict=True) if curve.points else ((), ())
            if curve.is_earlier:
                axes.plot(sizes, values, "-", color=EARLIER_COLOR, linewidth=0.9, alpha=0.6, label=curve.name)
            else:
                axes.plot(sizes, values, "o-", color=next(colors), markersize=3.5, linewidth=1.6, label=curve.name)
        if data.limit is not None:
            axes.axhline(data.limit, color=LIMIT_COLOR, linestyle="--", linewidth=1.4, label="limit")
        if data.least is not None:
            axes.axhline(data.least, color=SECOND_COLOR, linestyle=":", linewidth=1.6, label="expected")
        axes.set_xscale("log", base=2)
        if data.is_logarithmic:
            axes.set_yscale("log")
            low, high = axes.get_ylim()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < DECADES * low else (1,)))
            axes.yaxis.set_major_formatter(tick_text)
        else:
            axes.set_ylim(bottom=0)
        ticks = _ticks([size for curve in data.curves for size, _value in curve.points])
        axes.set_xticks(ticks, [size_text(size) for size in ticks], **PLAIN)
        axes.minorticks_off()
        axes.grid(color="#808080", alpha=0.25)
        axes.set_xlabel("size", **PLAIN)
        axes.set_ylabel(data.title, **PLAIN)
        # Below the limit, where bandwidths of small sizes leave room.
        axes.legend(frameon=False, fontsize=9, loc="upper left" if data.is_logarithmic else "center left")
    return svg[0]


def _ticks(sizes: Sequence[int]) -> list[int]:
    """Return a few of the sizes, the greatest among them."""
    ordered = sorted(set(sizes))
    step = -(-len(ordered) // MOST_TICKS) or 1
    return ordered[::-1][::step][::-1]
