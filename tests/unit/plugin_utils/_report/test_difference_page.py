# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the page of the difference of two sweeps, and of its table."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import charts
from ansible_collections.muster.train.plugins.plugin_utils._report.difference_page import render_difference
from ansible_collections.muster.train.plugins.plugin_utils._report.numbers import differences_csv
from ansible_collections.muster.train.plugins.plugin_utils._sweep.difference import compare_sweeps
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Sweep
from ansible_collections.muster.train.tests.support.sweep_parts import earlier_sweep, sweep
from ansible_collections.muster.train.tests.unit.plugin_utils._report.test_sweep_page import maps

WHOLE = compare_sweeps(sweep(), earlier_sweep())


def test_the_heat_map_has_the_changes_of_all_combinations() -> None:
    [heat_map] = maps(render_difference(WHOLE))
    assert {"channels", "28", "70", "env.NCCL_PROTO", "LL128", "Simple"} <= {*heat_map}
    assert [heat_map.count(text) for text in ("-23.9 %", "+14.4 %", "(-0.8 %)", "failed")] == [1, 1, 1, 1]
    assert [heat_map.count(text) for text in ("added", "absent")] == [2, 1]


def test_the_table_has_the_values_of_both() -> None:
    page = render_difference(WHOLE)
    for text in ("4.01 (4 to 4.02)", "3.05 (3 to 3.1)", "sweep_20261120_143052_nccl", "sweep_20261020_143052"):
        assert text in page
    assert '<div class="verdict warn">' in page


def narrowed(whole: Sweep) -> Sweep:
    """Return a sweep with one protocol."""
    points = [point for point in whole.points if point.parameters["env.NCCL_PROTO"] == "Simple"]
    return replace(whole, axes={**whole.axes, "env.NCCL_PROTO": ["Simple"]}, points=points)


def test_where_one_parameter_varies_there_is_a_table_only() -> None:
    page = render_difference(compare_sweeps(narrowed(sweep()), narrowed(earlier_sweep())))
    assert maps(page) == []
    assert "-23.9 %" in page


def test_sweeps_without_a_value_in_both_have_no_figure() -> None:
    points = [replace(point, value=None) for point in sweep().points]
    assert maps(render_difference(compare_sweeps(sweep(points=points), earlier_sweep()))) == []


def test_without_matplotlib_it_has_the_table_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render_difference(WHOLE)
    assert maps(page) == [] and charts.MISSING in page and "3.05" in page


def test_the_differences_as_csv() -> None:
    rows = {(row["channels"], row["env.NCCL_PROTO"]): row for row in csv.DictReader(differences_csv(WHOLE).split("\n"))}
    assert len(rows) == 7
    changed, failed, absent = rows["28", "Simple"], rows["42", "Simple"], rows["70", "LL128"]
    names = ("against", "against_least", "against_greatest", "against_runs", "sweep", "change_percent")
    assert [changed[name] for name in names] == ["4.01", "4.0", "4.02", "2", "3.05", "-23.94"]
    assert (changed["noise_percent"], changed["effect"]) == ("3.28", "better")
    assert (failed["sweep"], failed["sweep_outcome"], failed["change_percent"]) == ("", "failed", "")
    assert (absent["sweep_runs"], absent["against_runs"], absent["effect"]) == ("", "2", "absent")
