# SPDX-License-Identifier: GPL-3.0-or-later
"""The difference of two sweeps as a person reads it."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._request.conditions import parse_order
from .._results.rows import number_text
from .._text.table import aligned, one_line, table
from .difference import (
    ABSENT,
    ADDED,
    EFFECTS,
    SAME,
    UNKNOWN,
    WITHIN_NOISE,
    CombinationDifference,
    CombinationRuns,
    SweepDifference,
)
from .text import WIDEST, outcome_text, value_text

TEXTS = {
    WITHIN_NOISE: "within the noise",
    SAME: "the same",
    UNKNOWN: "without a value in both",
    ADDED: "only in the sweep",
    ABSENT: "only in the other",
}


def effect_text(effect: str) -> str:
    """Return what has become of a combination as a person reads it."""
    return TEXTS.get(effect, effect)


def change_text(percent: float, noise_percent: float | None) -> str:
    """Return a change, in brackets if it is within the noise, as `compare` shows it."""
    text = f"{percent:+.1f} %" if percent else "0 %"
    return f"({text})" if percent and noise_percent is not None and abs(percent) <= noise_percent else text


def runs_text(runs: CombinationRuns | None) -> str:
    """Return the mean of a combination's runs with their spread, or what became of them."""
    if runs is None:
        return ""
    if runs.mean is None or runs.least is None or runs.greatest is None:
        return outcome_text(runs.outcome or "")
    spread = f" ({number_text(runs.least)} to {number_text(runs.greatest)})" if runs.count > 1 else ""
    return f"{number_text(runs.mean)}{spread}"


def headers_and_rows(difference: SweepDifference) -> tuple[list[str], list[list[str]]]:
    """Return the headers and the rows of the table of all combinations."""
    rows = [
        [
            *(one_line(value_text(value), WIDEST) for value in known.parameters.values()),
            runs_text(known.other),
            runs_text(known.runs),
            "" if known.change_percent is None else change_text(known.change_percent, difference.noise_percent),
            effect_text(known.effect),
        ]
        for known in difference.combinations
    ]
    return [*difference.axes, "against", "sweep", "change", "effect"], rows


def summary(difference: SweepDifference) -> str:
    """Return how many combinations have which effect: `2 better, 1 worse, 1 only in the sweep`."""
    counts = [(difference.count(effect), effect_text(effect)) for effect in EFFECTS]
    return ", ".join(f"{count} {text}" for count, text in counts if count) or "no combinations"


def noise_text(difference: SweepDifference) -> str:
    """Return what is known of the noise."""
    if difference.noise_percent is None:
        return "not known, as no combination has two runs with a value: sweep with -e repeat=3"
    return (
        f"{difference.noise_percent:.1f} %, the largest difference between repeats of a combination "
        f"({difference.repeats} runs)"
    )


def lines(difference: SweepDifference, width: int) -> list[str]:
    """Return the table and what it means."""
    pairs = [
        ("sweep", difference.sweep_id),
        ("against", difference.against),
        (parse_order(difference.objective).name, summary(difference)),
        ("noise", noise_text(difference)),
    ]
    headers, rows = headers_and_rows(difference)
    return [*map(clean, table(headers, rows, width)), "", *aligned(pairs)]


def unchanged_text(known: CombinationDifference) -> str:
    """Return what a map shows of a combination without a change: that it is in one sweep alone, or how it ended."""
    ends = [runs.outcome for runs in (known.runs, known.other) if runs and runs.outcome]
    return known.effect if known.effect != UNKNOWN or not ends else outcome_text(ends[0])
