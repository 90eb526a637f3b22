# SPDX-License-Identifier: GPL-3.0-or-later
"""Which combination of a sweep is tried next, by what is known of the others; what is known decides alone."""

from __future__ import annotations

from random import Random

from .._request.verbs import TPE
from .record import Point, Sweep
from .study import Study


def choose(sweep: Sweep, study: Study | None) -> list[Point]:
    """Return the runs of the next combination: the one that the study suggests, or one by chance."""
    tried = sweep.tried
    free = {point.number: point.parameters for point in sweep.points if point.number not in tried}
    chance = Random(f"{sweep.key} {len(tried)}")
    number = study.suggest(free, chance) if study and sweep.search == TPE else chance.choice(sorted(free))
    return [point for point in sweep.points if point.number == number]
