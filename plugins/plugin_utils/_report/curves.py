# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a run: a metric over the steps, and the step times of its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .charts import FRAME_COLOR, PLAIN, new_figure, tick_text
from .series import STRAGGLER_SCORE, Curve, RankSummary

HEIGHT = 2.8
COLOR = "#4c70b0"
# Peaks above so many times what nearly all points stay below would leave the rest as a flat line.
NEARLY_ALL, PEAK = 0.98, 3.0
# With so many ranks the dots and the names are smaller.
FEW = 32


@frozen
class CurveChart:
    """A metric over the steps, or what axis says; others are curves of some ranks, by their names, drawn over it.

    factor is that of the unit which is shown; from_zero: whether the values begin at zero, however little they vary.
    """

    title: str
    curve: Curve
    factor: float = 1.0
    others: Mapping[str, Curve] | None = None
    axis: str = "step"
    from_zero: bool = False

    @property
    def ceiling(self) -> float | None:
        """The value above which peaks are cut, None where all fit."""
        highs = sorted(self.curve.highs)
        limit = max(highs[int(NEARLY_ALL * (len(highs) - 1))], *self.curve.values)
        return PEAK * limit * self.factor if highs[-1] > PEAK * limit > 0 else None


def draw_curve(data: CurveChart) -> str:
    """Return the SVG of a curve, with a band from the least to the greatest value of the ranks."""

    def scaled(values: Sequence[float]) -> list[float]:
        return [value * data.factor for value in values]

    with new_figure(data.title, HEIGHT) as (axes, svg):
        curve = data.curve
        if list(curve.lows) != list(curve.highs):
            axes.fill_between(
                curve.steps, scaled(curve.lows), scaled(curve.highs), color=COLOR, alpha=0.25, linewidth=0
            )
        axes.plot(curve.steps, scaled(curve.values), "-" if curve.steps[1:] else "o", color=COLOR, linewidth=1.5)
        for name, other in (data.others or {}).items():
            axes.plot(other.steps, scaled(other.values), color=FRAME_COLOR, linewidth=1)
            place = (other.steps[-1], other.values[-1] * data.factor)
            axes.annotate(name, place, (4, 0), textcoords="offset points", va="center", annotation_clip=False, **PLAIN)
        if data.ceiling is not None:
            axes.set_ylim(0, data.ceiling)
        elif data.from_zero:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(tick_text)
        axes.yaxis.set_major_formatter(tick_text)
        axes.grid(axis="y", color="#808080", alpha=0.3)
        axes.set_xlabel(data.axis, **PLAIN)
        axes.set_ylabel(data.title, **PLAIN)
    return svg[0]


def draw_ranks(title: str, ranks: Sequence[RankSummary]) -> str:
    """Return the SVG of the step time of each rank: a dot for the median, and a line up to the 95th percentile."""
    from matplotlib.ticker import MaxNLocator

    known = [rank for rank in ranks if rank.step_s is not None]
    size = 5 if len(known) <= FEW else 3
    with new_figure(f"{title}, ranks", HEIGHT) as (axes, svg):
        for is_straggler, color in ((False, COLOR), (True, FRAME_COLOR)):
            some = [rank for rank in known if rank.is_straggler is is_straggler]
            numbers, times = [rank.rank for rank in some], [1000 * (rank.step_s or 0.0) for rank in some]
            axes.vlines(numbers, times, [1000 * (rank.step_s_p95 or 0.0) for rank in some], color=color, alpha=0.5)
            axes.plot(numbers, times, "^" if is_straggler else "o", color=color, markersize=size + 2 * is_straggler)
            for number, time in zip(numbers, times, strict=True) if is_straggler else ():
                axes.annotate(f"{number}", (number, time), (5, -5), textcoords="offset points", **PLAIN)
        fastest = min(1000 * (rank.step_s or 0.0) for rank in known)
        axes.axhline(fastest / STRAGGLER_SCORE, color="#000000", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y", color="#808080", alpha=0.3)
        axes.set_xlabel("rank", **PLAIN)
        axes.set_ylabel(title, **PLAIN)
    return svg[0]
