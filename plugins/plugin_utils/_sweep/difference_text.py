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


def change_text(percent: float) -> str:
    """Return a change."""
    return f"{percent:+.1f} %" if percent else "0 %"


def _change_cell(known: CombinationDifference) -> str:
    """Return the change of a combination, in brackets if it is within the noise, as `compare` shows it."""
    if known.change_percent is None:
        return ""
    text = change_text(known.change_percent)
    return f"({text})" if known.effect == WITHIN_NOISE else text


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
            _change_cell(known),
            "" if known.noise_percent is None else f"{known.noise_percent:.1f} %",
            effect_text(known.effect),
        ]
        for known in difference.combinations
    ]
    return [*difference.axes, "against", "sweep", "change", "noise", "effect"], rows


def summary(difference: SweepDifference) -> str:
    """Return how many combinations have which effect: `2 better, 1 worse, 1 only in the sweep`."""
    counts = [(difference.count(effect), effect_text(effect)) for effect in EFFECTS]
    return ", ".join(f"{count} {text}" for count, text in counts if count) or "no combinations"


def noise_text(difference: SweepDifference) -> str:
    """Return what is known of the noise."""
    count = difference.noise_groups
    if difference.noise_percent is None:
        why = "the only repeats are equal" if count else "no combination has two runs with a value"
        return f"not known, so any change counts, as {why}: sweep with -e repeat=3"
    groups = f"the median of {count} groups" if count > 1 else "that of the only group"
    return f"by a combination's own repeats, else {difference.noise_percent:.1f} %, {groups} of repeats"


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
