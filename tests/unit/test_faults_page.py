# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/faults.md, its figures and its evidence agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ansible_collections.muster.train.tests.faults import figures, page, suite, table
from ansible_collections.muster.train.tests.support import sources


def test_a_stored_figure_replaces_its_row_and_keeps_the_others(tmp_path: Path) -> None:
    stored = tmp_path / "new" / "figures.json"
    first, second = list(table.FAULTS)[:2]
    suite.store(figures.Figure(second, bound_s=5.0, rounds=1, seconds=[2.0]), 1, stored)
    suite.store(figures.Figure(first, bound_s=5.0, rounds=1, seconds=[3.0]), 1, stored)
    suite.store(figures.Figure(second, bound_s=5.0, rounds=1, seconds=[4.0]), 1, stored)
    rows = json.loads(stored.read_text())["figures"]
    assert [(row["fault"], row["worst_s"]) for row in rows] == [(first, 3.0), (second, 4.0)]


def test_the_page_matches_the_table_and_the_figures() -> None:
    assert page.PAGE.read_text() == page.page(json.loads(page.FIGURES.read_text()))


def test_every_fault_has_figures_and_every_row_has_evidence() -> None:
    kept = json.loads(page.FIGURES.read_text())["figures"]
    assert [figure["fault"] for figure in kept] == list(table.FAULTS)
    assert [row.what for row in table.ROWS if not (row.faults or row.tests)] == []


def test_every_named_test_exists() -> None:
    def breaches(test: str) -> list[str]:
        path, _colons, name = test.partition("::")
        return [] if re.search(rf"^def {name}\(", sources.text(path), re.MULTILINE) else ["does not exist"]

    sources.check_all(sorted({test for row in table.ROWS for test in row.tests}), breaches)
