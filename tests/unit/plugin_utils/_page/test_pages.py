# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the pages of preflight and of a launch, and of what all pages share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.page import render as render_preflight
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.remedy import CopyableCommand, sentence
from ansible_collections.muster.train.plugins.plugin_utils._page import page
from ansible_collections.muster.train.plugins.plugin_utils._page.problems import problems
from ansible_collections.muster.train.plugins.plugin_utils._page.tables import PageTable
from ansible_collections.muster.train.plugins.plugin_utils._plan.page import render as render_launch
from ansible_collections.muster.train.tests.support.html_pages import HOSTILE, PageParser, check_structure
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Facts, report

STYLE = (Path(page.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")


def broken(facts: Facts) -> None:
    facts["node"]["clock"]["wall"] = NOW - 60
    facts["node"]["code"]["commit"] = "b" * 40
    facts["node"]["kernel_log"] = None
    facts["gpu"]["driver_version"] = HOSTILE


def finding(node: str | None, observed: str = "off", **changes: object) -> Finding:
    values: dict[str, Any] = {
        "check": "ecc",
        "status": "fail",
        "expected": "on",
        "source": "facts",
        "remedy": "turn it on",
        **changes,
    }
    return Finding(node=node, observed=observed, **values)


def test_preflight_that_fails() -> None:
    result = report("dgx_h100_ib", broken)
    document = PageParser(render_preflight(result))
    check_structure(document)
    assert "Not ready for a launch: 3 checks failed" in document.texts
    cards = [str(attributes["class"]) for tag, attributes in document.elements if tag == "section" and attributes]
    assert cards == ["problem fail"] * 3 + ["problem error"]
    assert any(HOSTILE in text for text in document.texts)
    assert "ansible-playbook muster.train.setup --tags code" in document.texts, "a command in an element of its own"
    for row in result.rows:
        assert {row.name, *row.odd.values()} <= set(document.texts)
    assert {item.observed for item in result.findings} <= set(document.texts)


def test_preflight_that_passes() -> None:
    document = PageParser(render_preflight(report("laptop")))
    check_structure(document)
    assert "Ready for a launch" in document.texts
    assert "Problems" not in document.texts


def test_preflight_where_a_node_is_silent() -> None:
    document = PageParser(render_preflight(report("laptop", silent="<b>gone</b>")))
    check_structure(document)
    assert "Not known to be ready: 1 check could not run" in document.texts
    assert "<b>gone</b>" in document.texts


@pytest.mark.parametrize(
    ("findings", "refused", "headline"),
    [
        ([finding("n0", HOSTILE)], True, "The launch was refused: 1 problem"),
        ([finding("n0", status="warn")], False, "The launch was planned, with 1 warning"),
        ([], False, "The launch was planned"),
    ],
)
def test_a_launch(findings: list[Finding], refused: bool, headline: str) -> None:
    document = PageParser(render_launch(2, findings, refused))
    check_structure(document)
    assert headline in document.texts
    assert {item.observed for item in findings} <= set(document.texts)


def test_problems_are_grouped_by_check_and_nodes_by_what_was_observed() -> None:
    remedy = sentence("first ", CopyableCommand(("reboot",)))
    group = [finding(f"n{number}", remedy=remedy) for number in range(12)]
    warning = finding("n1", "old", check="driver", status="warn")
    ecc, driver = problems([warning, *group, finding("n13", "broken", remedy=remedy), finding("n14", status="pass")])
    assert (ecc.check, ecc.status, driver.status) == ("ecc", "fail", "warn")
    [case] = ecc.cases
    assert [text for _nodes, text in case.observations] == ["off", "broken"]
    assert [(piece.text, piece.is_command) for piece in case.remedy] == [("first ", False), ("reboot", True)]
    assert case.observations[0][0].text == "n[0-11]" and "n10 and n11" in case.observations[0][0].all


def test_a_table_without_empty_columns_knows_whether_it_is_wide() -> None:
    table = PageTable.of("t", ("a", "b", "c"), [("1", "", "x"), ("2", "", "y")])
    assert (table.headers, table.wide) == (["a", "c"], False)
    assert PageTable.of("t", ("a", "b"), [("1", "word " * 20)]).wide


def test_when_and_how_a_page_was_made_does_not_change_its_content() -> None:
    made = render_launch(1, [], False)
    first, second = page.finished(made, "now", "<b>{{ 7 * 7 }}</b>"), page.finished(made, "later", "x")
    assert first != second and page.same_content(first, second)
    assert "now · &lt;b&gt;{{ 7 * 7 }}&lt;/b&gt;" in first
    assert not page.same_content(first, page.finished(render_launch(2, [], False), "now", "x"))


def _luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_texts_have_enough_contrast_in_both_color_schemes() -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks)
    assert set(light) == set(dark)
    texts = ("ink", "soft", "bad", "warn", "good", "own")
    on_paper = [(name, ground) for name in texts for ground in ("paper", "card")]
    pairs = [*on_paper, *(("ink", ground) for ground in ("gpu", "nic", "idle")), ("pix", "paper"), ("pxb", "paper")]
    for colors in (light, dark):
        for text, ground in pairs:
            low, high = sorted(_luminance(colors[name]) for name in (text, ground))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground, colors)


def test_a_page_needs_nothing_from_elsewhere() -> None:
    assert "url(" not in STYLE and "@import" not in STYLE
