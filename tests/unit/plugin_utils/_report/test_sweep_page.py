# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the page of a sweep."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import charts, sweep_page
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Sweep
from ansible_collections.muster.train.tests.support.sweep_parts import sweep

COMMAND = "ansible-playbook muster.train.launch -e '{\"channels\": 42}'"


def render(shown: Sweep) -> str:
    return sweep_page.render(shown, COMMAND)


def maps(page: str) -> list[list[str]]:
    """Return the texts of each figure."""
    return [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_what_it_says() -> None:
    page = render(sweep())
    assert "6 of 12 runs succeeded, 2 failed, 2 timed out, 2 not run" in page
    assert "The best loss is 2.3 (mean of 2, 2.25 to 2.35) with channels=42 env.NCCL_PROTO=LL128." in page
    assert "node1 rank 3: ValueError: no loss at 42" in page
    assert page.count("<li>channels=42 env.NCCL_PROTO=Simple</li>") == 1, "repeats that ended alike are one"
    assert "-e &#39;{&#34;channels&#34;: 42}&#39;" in page


def test_the_heat_map_has_every_combination() -> None:
    heat_map, dots = maps(render(sweep()))
    for text in ("channels", "28", "42", "56", "env.NCCL_PROTO", "LL128", "Simple", "2.55", "3.05", "2.3"):
        assert text in heat_map
    assert [heat_map.count(text) for text in ("failed", "timed out", "not run")] == [1, 1, 1]
    assert "channels=42 env.NCCL_PROTO=LL128" in dots


def test_one_parameter_has_no_map_and_three_have_several() -> None:
    whole = sweep()
    one = [replace(point, parameters={"channels": point.number}) for point in whole.points]
    assert len(maps(render(replace(whole, axes={"channels": [*range(1, 7)]}, points=one)))) == 1
    three = [
        replace(point, parameters={**point.parameters, "threads": threads}, key=f"{point.key}.{threads}")
        for threads in (256, 512)
        for point in whole.points
    ]
    *heat_maps, parallel, _dots = maps(render(replace(whole, axes={**whole.axes, "threads": [256, 512]}, points=three)))
    assert len(heat_maps) == 2
    assert {"channels", "28", "env.NCCL_PROTO", "Simple", "threads", "512", "loss", "2.3"} <= {*parallel}


def test_more_parameters_than_a_view_has_axes_are_in_the_table_only() -> None:
    whole = sweep()
    names = [f"env.A{number}" for number in range(8)]
    points = [replace(point, parameters={**point.parameters, **dict.fromkeys(names, "1")}) for point in whole.points]
    assert len(maps(render(replace(whole, axes={**whole.axes, **{name: ["1"] for name in names}}, points=points)))) == 2


def test_a_search_shows_its_trials_and_no_failure_where_a_run_was_pruned() -> None:
    tried = [replace(point, trial=7 - point.number) for point in sweep().points if point.number in (1, 2, 3)]
    pruned = [replace(point, outcome="pruned", why="too slow", value=None) for point in tried[:2]]
    page = render(sweep(points=[*pruned, *tried[2:]], search="tpe", trials=3))
    assert "4 of 6 runs succeeded, 2 pruned" in page
    assert "What did not succeed" not in page
    assert "too slow" in page
    trials, heat_map, _dots = maps(page)
    assert "trial" in trials and "loss" in trials
    assert heat_map.count("pruned") == 1
    assert "<dd>tpe</dd>" in page


def test_a_sweep_without_a_value_has_no_figures() -> None:
    points = [replace(point, value=None) for point in sweep().points]
    page = render(sweep(points=points))
    assert maps(page) == []
    assert "The best" not in page


def test_it_is_the_same_each_time() -> None:
    assert render(sweep()) == render(sweep())


def test_values_are_neither_markup_nor_formulas() -> None:
    value = "<b>$\\frac{1$ {{ 7 * 7 }} \u65e5</b>"
    whole = sweep()
    points = [
        replace(point, parameters={**point.parameters, "env.NCCL_PROTO": value})
        for point in whole.points
        if point.parameters["env.NCCL_PROTO"] == "LL128"
    ]
    page = render(replace(whole, axes={"channels": [28, 42, 56], "env.NCCL_PROTO": [value]}, points=points))
    assert "<b>$" not in page
    assert page.count("&lt;b&gt;$\\frac{1$ {{ 7 * 7 }} \u65e5&lt;/b&gt;") > 2
    assert "<image" not in page
    assert "data:" not in page


def test_without_matplotlib_it_has_no_figures_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render(sweep())
    assert maps(page) == []
    assert f"{sys.executable} -m pip install matplotlib" in page
