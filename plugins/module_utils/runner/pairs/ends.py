# SPDX-License-Identifier: GPL-3.0-or-later
"""What the two ends of a pair say of one measurement, as one: the end that knows what went wrong is believed."""

from __future__ import annotations

from collections.abc import Sequence

from ..._records.pairs import FAILED, MEASURED, STALLED, UNREACHABLE, PairSample

# An error is followed by silence at the other end, so what says more comes first.
CREDENCE = (FAILED, UNREACHABLE, STALLED, MEASURED)


def joined(ends: Sequence[PairSample]) -> PairSample:
    """Return the sample of the end that knows more; of two that worked the first one."""
    return min(ends, key=lambda end: CREDENCE.index(end.outcome))
