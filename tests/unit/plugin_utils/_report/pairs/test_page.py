# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the page of a search among pairs."""

from __future__ import annotations

import re

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import charts
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs import text
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs.page import render
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome


def figures(page: str) -> list[list[str]]:
    """Return the texts of each figure."""
    return [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_a_map_has_each_pair_of_a_few_nodes() -> None:
    bandwidth, latency = figures(render(outcome(Network(3, 1, bandwidth={(1,): 4.0}))))
    for texts in (bandwidth, latency):
        assert texts.count("node1") == 2
        assert len([cell for cell in texts if re.fullmatch(r"[0-9.]+", cell)]) == 6


def test_a_map_of_many_nodes_has_the_slowest_in_each_round() -> None:
    known = outcome(Network(64, 1, bandwidth={(40,): 4.0}))
    bandwidth, _latency = figures(render(known))
    assert "node40" in bandwidth
    assert len([cell for cell in bandwidth if cell.startswith("node") and cell != "node"]) == text.MOST_ROWS


def test_the_verdict_is_first() -> None:
    assert '<div class="verdict pass">' in render(outcome(Network(3, 1)))
    assert '<div class="verdict fail">' in render(outcome(Network(3, 1, bandwidth={(1,): 4.0})))
    assert '<div class="verdict warn">' in render(outcome(Network(2, 1)))


def test_a_pair_that_did_not_work_is_on_the_map() -> None:
    bandwidth, _latency = figures(render(outcome(Network(4, 1, stalled=frozenset([(1,)])))))
    assert bandwidth.count("stalled") >= 2


def test_what_nodes_are_called_is_no_markup() -> None:
    page = render(outcome(Network(3, 1, bandwidth={(1,): 4.0}), names=["<b>", "<script>", "{{ 1 }}"]))
    assert "<script>" not in page and "<b>0" not in page and "{{ 1 }}" in page


def test_without_matplotlib_the_page_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render(outcome(Network(3, 1)))
    assert figures(page) == [] and charts.MISSING in page and "node2" in page
