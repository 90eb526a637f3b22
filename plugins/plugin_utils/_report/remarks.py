# SPDX-License-Identifier: GPL-3.0-or-later
"""What is odd in the metrics of a run, in words."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._results.rows import number_text
from .series import Remark


def remark_text(remark: Remark) -> str:
    """Return a remark as a sentence, which begins with the ranks."""
    return f"{_ranks(remark)}: {TEXTS[remark.kind](remark)}."


def _ranks(remark: Remark) -> str:
    return f"{'Rank' if len(remark.ranks) == 1 else 'Ranks'} {spans(remark.ranks)}"


def _empty(remark: Remark) -> str:
    return "the file of metrics is empty" if len(remark.ranks) == 1 else "the files of metrics are empty"


def _broken(remark: Remark) -> str:
    return f"{_count(remark, 'line')} of the metrics could not be read as a JSON object and {_are(remark)} left out"


def _not_finite(remark: Remark) -> str:
    return f"the loss is NaN or infinite in {_count(remark, 'line')}, first at {_place(remark)}"


def _clock(remark: Remark) -> str:
    step = f"{_place(remark)} took {number_text(remark.example.value or 0.0)} s by the clock"
    why = "as the clock has jumped or the rank has stood still"
    return f"{_count(remark, 'step time')} {_are(remark)} left out, {why}: {step}"


def _backwards(remark: Remark) -> str:
    before = number_text(remark.example.value or 0.0)
    times = "once" if remark.count == 1 else f"{remark.count:,} times"
    return f"the steps go back {times}, first from {before} to {_place(remark)}; a point has all lines of its steps"


def _count(remark: Remark, what: str) -> str:
    return f"{remark.count:,} {what}{'' if remark.count == 1 else 's'}"


def _are(remark: Remark) -> str:
    return "is" if remark.count == 1 else "are"


def _place(remark: Remark) -> str:
    """Return the step of the example, and its rank where there are others."""
    step = f"step {number_text(remark.example.step or 0.0)}"
    return step if len(remark.ranks) == 1 else f"{step} of rank {remark.example.rank}"


TEXTS: dict[str, Callable[[Remark], str]] = {
    "missing": lambda _remark: "no metrics were collected",
    "empty": _empty,
    "broken": _broken,
    "not_finite": _not_finite,
    "clock": _clock,
    "backwards": _backwards,
}
