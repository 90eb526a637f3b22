# SPDX-License-Identifier: GPL-3.0-or-later
"""Many parameters in one figure: an axis for each, and a line for each combination of their values."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._results.rows import number_text
from .charts import COLORS, FRAME_COLOR, PLAIN, new_figure

HEIGHT = 3.6
# Axes and, on one of them, values that there is room for.
MOST_AXES, MOST_VALUES = 7, 12
TICKS = 4


@frozen
class ParallelAxis:
    """A parameter with its values as texts, in the order of the sweep."""

    name: str
    values: Sequence[str]


@frozen
class ParallelChart:
    """lines are combinations: the place of each value on its axis, and what was measured; best is one of them."""

    title: str
    axes: Sequence[ParallelAxis]
    lines: Sequence[tuple[Sequence[int], float]]
    best: int


def fits(axes: Sequence[ParallelAxis]) -> bool:
    """Return whether a figure with these axes can be read."""
    return len(axes) <= MOST_AXES and all(len(axis.values) <= MOST_VALUES for axis in axes)


def draw_parallel(data: ParallelChart) -> str:
    """Return the SVG; the last axis is what was measured, and the best line has the color of a frame."""
    from matplotlib import colormaps

    measured = [value for _places, value in data.lines]
    low, high = min(measured), max(measured)
    span = (high - low) or 1.0
    last = len(data.axes)
    with new_figure(f"{data.title}, parallel", HEIGHT) as (axes, svg):
        for index, (places, value) in enumerate(data.lines):
            heights = [_height(axis, place) for axis, place in zip(data.axes, places, strict=True)]
            share = 0.5 if low == high else (value - low) / span
            is_best = index == data.best
            color = FRAME_COLOR if is_best else colormaps[COLORS](share)
            width, order = (2.5, 3) if is_best else (1.2, 2)
            axes.plot(range(last + 1), [*heights, share], color=color, linewidth=width, zorder=order, alpha=0.9)
        for place, axis in enumerate(data.axes):
            for number, text in enumerate(axis.values):
                axes.text(place + 0.04, _height(axis, number), text, va="bottom", zorder=4, **PLAIN)
        for tick in range(TICKS + 1) if low != high else [TICKS // 2]:
            text = number_text(low + span * tick / TICKS if low != high else low)
            axes.text(last + 0.04, tick / TICKS, text, va="center", zorder=4, **PLAIN)
        for place in range(last + 1):
            axes.axvline(place, color="#808080", linewidth=0.8, zorder=1)
        axes.set_xticks(range(last + 1), [*(axis.name for axis in data.axes), data.title], **PLAIN)
        axes.set_xlim(-0.05, last + 0.45)
        axes.set_ylim(-0.06, 1.1)
        axes.yaxis.set_visible(False)
        axes.spines[["left", "bottom"]].set_visible(False)
    return svg[0]


def _height(axis: ParallelAxis, place: int) -> float:
    return place / (len(axis.values) - 1) if len(axis.values) > 1 else 0.5
