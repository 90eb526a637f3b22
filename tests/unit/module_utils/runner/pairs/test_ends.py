# SPDX-License-Identifier: GPL-3.0-or-later
"""The two ends of a measurement."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import (
    FAILED,
    MEASURED,
    STALLED,
    UNREACHABLE,
    PairSample,
)
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.ends import joined


def end(outcome: str, why: str = "") -> PairSample:
    return PairSample(1, 0, 1, 0, outcome, why=why)


@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        (end(MEASURED, "first"), end(MEASURED, "second"), "first"),
        (end(MEASURED), end(STALLED, "no result"), "no result"),
        (
            end(STALLED, "no result"),
            end(FAILED, "CUDA error: invalid device ordinal"),
            "CUDA error: invalid device ordinal",
        ),
        (end(UNREACHABLE, "no route to host"), end(STALLED, "no result"), "no route to host"),
        (end(FAILED, "an error"), end(UNREACHABLE, "no connection came"), "an error"),
    ],
)
def test_who_knows_more_is_believed(first: PairSample, second: PairSample, known: str) -> None:
    assert joined([first, second]).why == known
