# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: one file that is well formed, needs nothing else, and takes nothing from hosts for markup."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import NodeAnswer, Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect.page import render, subtitled
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_ENV, Layer, Origin
from ansible_collections.muster.train.tests.support.detect_parts import (
    answer,
    cluster,
    detected,
    dgx_a100,
    dgx_h100,
    laptop,
    mi300x,
)

ROOT = Path(__file__).resolve().parents[4]
TEMPLATE = (ROOT / "roles" / "detect" / "templates" / "detect.html.j2").read_text(encoding="utf-8")
HOSTILE = "</title></text><script>alert('1')</script><img src=x onerror=alert(1)>\" onload=\"x {{ 7 * 7 }} {% if %}"
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(html.parser.HTMLParser):
    """Elements and texts of a page; an element that is not closed in its place is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def page(*machines: dict[str, Any], **policy: Any) -> Page:
    return Page(render(TEMPLATE, cluster(*machines, **policy), "now · ansible-playbook"))


def tags(document: Page) -> list[str]:
    return [tag for tag, _attributes in document.elements]


@pytest.mark.parametrize("machine", [dgx_h100, dgx_a100, mi300x, laptop])
def test_it_is_well_formed_and_needs_nothing_else(machine: Any) -> None:
    document = page(machine(), machine())
    assert not {"script", "img", "link", "iframe", "object", "base"} & set(tags(document))
    for _tag, attributes in document.elements:
        assert not {"src", "href", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in TEMPLATE and "@import" not in TEMPLATE


def test_the_drawing_says_what_it_shows_without_being_seen() -> None:
    document = page(dgx_h100())
    pictures = [attributes for tag, attributes in document.elements if tag == "svg"]
    assert [picture["class"] for picture in pictures] == ["wide", "narrow"]
    assert all(picture["role"] == "img" and "8 x NVIDIA H100" in str(picture["aria-label"]) for picture in pictures)
    assert tags(document).count("caption") == 4  # GPU x NIC, GPU x GPU, GPUs, ports
    for text in ("mlx5_10", "400 Gb/s", "NV18", "NVLink: all 28 pairs NV18", "NUMA node 1", "DOWN"):
        assert text in document.texts


def test_the_matrix_has_every_relation() -> None:
    document = page(dgx_h100())
    for relation, count in (("PIX", 8), ("NODE", 8 * 4), ("SYS", 8 * 5)):
        cells = [
            attributes for tag, attributes in document.elements if tag == "td" and attributes.get("class") == relation
        ]
        assert len(cells) == count


def test_nodes_of_one_kind_are_drawn_once() -> None:
    document = page(dgx_h100(), mi300x(), dgx_h100(), laptop())
    assert tags(document).count("svg") == 2 * 2
    assert "node0 and node2 (2 nodes with the same topology)" in document.texts
    assert tags(document).count("details") == 4


def test_a_laptop_has_no_drawing_and_says_why() -> None:
    document = page(laptop())
    assert "svg" not in tags(document)
    assert any(text.startswith("none under /sys/class/infiniband") for text in document.texts)


def test_findings_come_first_and_name_their_nodes() -> None:
    document = page(laptop(), laptop(), mode="rdma", mode_origin=Origin(Layer.EXTRA_VARS, "-e mode"))
    assert "Problems" in document.texts
    assert "node0 and node1" in document.texts
    assert ("li", {"class": "fail"}) in document.elements


def test_values_from_hosts_are_neither_markup_nor_templates() -> None:
    machine = dgx_h100()
    machine["gpu"]["devices"][0].update(name=HOSTILE, uuid=HOSTILE)
    machine["gpu"]["driver_version"] = HOSTILE
    machine["gpu"]["links"][0]["relation"] = HOSTILE
    machine["gpu"]["nearest_nics"][0]["names"] = [HOSTILE]
    machine["rdma"]["hcas"][0]["ports"][0].update(netdev=HOSTILE, reasons=[HOSTILE], usable=False)
    machine["rdma"]["hcas"][1].update(name=HOSTILE, hca_type=HOSTILE)
    machine["gpu"]["nic_links"][0]["nic"] = HOSTILE
    machine["gpu"]["nic_links"][1]["relation"] = HOSTILE
    answers: list[NodeAnswer] = [answer("node0", machine), Silent("<b>node1</b>", HOSTILE)]
    report = detected(answers, layers=[({"MINE": HOSTILE}, LAUNCH_ENV)])
    document = Page(render(TEMPLATE, report, HOSTILE))
    assert not {"script", "img"} & set(tags(document))
    for _tag, attributes in document.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert any(HOSTILE in text for text in document.texts), "shown as it is, not evaluated"
    assert "<b>node1</b>" in document.texts


def test_the_same_facts_give_the_same_page() -> None:
    report = cluster(dgx_h100(), mi300x())
    assert render(TEMPLATE, report, "") == render(TEMPLATE, report, "")


def test_of_many_differences_the_first_are_shown() -> None:
    document = render(TEMPLATE, cluster(dgx_h100(), mi300x()), "")
    assert re.search(r"<li>and [0-9]+ more</li>", document)
    assert document.count("(node0: ") == 12


def test_a_subtitle_that_is_put_in_later() -> None:
    report = cluster(laptop())
    trap = "<b>now</b> & {{ 7 * 7 }}"
    assert subtitled(render(TEMPLATE, report, ""), trap) == render(TEMPLATE, report, trap)
