# SPDX-License-Identifier: GPL-3.0-or-later
"""How numbers of runs differ: the change in percent, and the spread of repeats, which is the noise.

The largest difference between repeats tells nothing of the distribution, but needs no assumption about it either.
"""

from __future__ import annotations

from collections.abc import Sequence

# Times are whole seconds: repeats may differ by more than they show.
RESOLUTION = {"elapsed_s": 1.0}
# As many as run.yml has of a loss.
DIGITS = 6


def percent_of(step: float, first: float) -> float | None:
    """Return a difference in percent of the value that it starts from; None where that is zero."""
    return round(100 * step / abs(first), 2) if first else None


def spread_of(name: str, values: Sequence[float]) -> float | None:
    """Return how much repeats differ in the number of this name; None for fewer than two."""
    return max(max(values) - min(values), RESOLUTION.get(name, 0.0)) if len(values) > 1 else None


def shortened(value: float) -> float:
    """Return a difference without the digits that only its computation gave it, so that equal ones are equal."""
    return float(f"{value:.{DIGITS}g}")
