# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an acceptance."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report import charts
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.changes import changes_between
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.page import render
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import StageThreshold
from ansible_collections.muster.train.tests.support.accept_parts import SOURCE, acceptance, documents, refused

CHANGES = "<caption><span>Before and now"


def test_the_verdict_is_first() -> None:
    assert '<div class="verdict pass">' in render(acceptance(), None, "")
    assert '<div class="verdict warn">' in render(acceptance(thresholds={}), None, "")
    assert '<div class="verdict fail">' in render(acceptance(documents(all={})), None, "")


def test_a_threshold_is_there_with_its_source() -> None:
    assert render(acceptance(), None, "").count(SOURCE) == 3


def test_a_stage_that_did_not_pass_has_its_errors_and_its_page_no_link() -> None:
    page = render(acceptance(documents(all=refused("disks", "/ is full"))), None, "")
    assert re.findall(r'<section class="problem (\w+)">', page) == ["fail"]
    assert "/ is full" in page
    assert re.findall(r'<a href="([^"]+)"', page) == [
        *("preflight.html", "run_intra/benchmark.html", "run_rails/benchmark.html", "run_pairs/pairs.html")
    ]


def test_each_benchmark_has_a_curve_and_that_of_the_time_before() -> None:
    before = acceptance(created="2026-10-20T14:30:52Z")
    figures = re.findall(r"<svg.*?</svg>", render(acceptance(), before, ""), re.DOTALL)
    assert ["2026-10-20" in figure for figure in figures] == [True, True, True]
    assert ["expected" in figure for figure in figures] == [True, False, True]


def test_a_first_acceptance_has_no_table_of_changes() -> None:
    before = acceptance(accept_id="accept_20261020_143052")
    compared = replace(acceptance(), against=before.accept_id, changes=changes_between(before, acceptance()))
    assert [CHANGES in render(known, None, "") for known in (acceptance(), compared)] == [False, True]


def test_what_is_signed_is_the_document() -> None:
    assert hashlib.sha256(b"the document").hexdigest() in render(acceptance(), None, "the document")


def test_what_others_say_is_no_markup() -> None:
    known = documents(all=refused("<b>", "<script>"))
    page = render(acceptance(known, {"intra": StageThreshold("<i>{{ 1 }}", 1.0)}, cluster="<u>"), None, "")
    assert not re.search("<script>|<b>|<i>|<u>", page) and "{{ 1 }}" in page


def test_without_matplotlib_the_page_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "are_available", lambda: False)
    page = render(acceptance(), None, "")
    assert "<svg" not in page and charts.MISSING in page and SOURCE in page
