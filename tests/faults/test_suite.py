# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of the fault suite: every fault, a few times. `make faults` is the whole of it, with the times."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.faults import figures, page, suite, table, torchrun

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


def test_a_stored_figure_replaces_its_row_and_keeps_the_others(tmp_path: Path) -> None:
    stored = tmp_path / "new" / "figures.json"
    first, second = list(table.FAULTS)[:2]
    suite.store(figures.Figure(second, bound_s=5.0, rounds=1, seconds=[2.0]), SEED, stored)
    suite.store(figures.Figure(first, bound_s=5.0, rounds=1, seconds=[3.0]), SEED, stored)
    suite.store(figures.Figure(second, bound_s=5.0, rounds=1, seconds=[4.0]), SEED, stored)
    rows = json.loads(stored.read_text())["figures"]
    assert [(row["fault"], row["worst_s"]) for row in rows] == [(first, 3.0), (second, 4.0)]


def test_the_page_matches_the_table_and_the_figures() -> None:
    assert page.PAGE.read_text() == page.page(json.loads(page.FIGURES.read_text()))


def test_every_fault_has_figures_and_every_row_has_evidence() -> None:
    kept = json.loads(page.FIGURES.read_text())["figures"]
    assert [figure["fault"] for figure in kept] == list(table.FAULTS)
    assert [row.what for row in table.ROWS if not (row.faults or row.tests)] == []


@pytest.mark.parametrize("test", sorted({test for row in table.ROWS for test in row.tests}))
def test_every_named_test_exists(test: str) -> None:
    path, _colons, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (page.ROOT / path).read_text(), re.MULTILINE)
