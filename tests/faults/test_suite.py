# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of the fault suite: every fault, a few times. `make faults` is the whole of it, with the times."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.faults import figures, table, torchrun

SEED = 20261122
# Most of them wait most of the time.
AT_ONCE = 5
TIMES = {"rounds": 1, "injections": 12, "kills": 2, "races": 3, "torch": 1}
# The first to begin: they would be alone in the end.
LONGEST = ("kills", "injections", "torch")


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, Future[figures.Figure]]]:
    """What comes of every fault, all of them begun."""
    faults = sorted(table.FAULTS.values(), key=lambda fault: fault.times not in LONGEST)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {fault.name: pool.submit(figures.measure, fault, TIMES[fault.times], SEED, 3) for fault in faults}


@pytest.mark.parametrize("name", table.FAULTS)
def test_every_fault_ends_as_expected(made: dict[str, Future[figures.Figure]], name: str) -> None:
    figure = made[name].result()
    if figure.skipped:
        pytest.skip(figure.skipped)
    assert figure.wrong == []


@pytest.mark.skipif(torchrun.skip_reason() is not None, reason="torch is not installed")
def test_without_the_gang_a_head_that_finishes_first_fails_its_peers(tmp_path: Path) -> None:
    assert torchrun.hasty_head(tmp_path) == 1
