# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: one file that is well formed, needs nothing else, and takes nothing from hosts for markup."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import NodeAnswer, Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect.groups import groups
from ansible_collections.muster.train.plugins.plugin_utils._detect.page import render
from ansible_collections.muster.train.plugins.plugin_utils._detect.text import DIFFERENCES_SHOWN
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_ENV, Layer, Origin
from ansible_collections.muster.train.tests.support.detect_parts import (
    answer,
    cluster,
    detected,
    dgx_a100,
    dgx_h100,
    down,
    laptop,
    mi300x,
)
from ansible_collections.muster.train.tests.support.html_pages import HOSTILE, PageParser, check_structure


def page(*machines: dict[str, Any], **policy: Any) -> PageParser:
    return PageParser(render(cluster(*machines, **policy)))


@pytest.mark.parametrize("machine", [dgx_h100, dgx_a100, mi300x, laptop])
def test_it_is_well_formed_and_needs_nothing_else(machine: Any) -> None:
    document = page(machine(), machine())
    check_structure(document)


def test_the_drawing_says_what_it_shows_without_being_seen() -> None:
    document = page(dgx_h100())
    pictures = [attributes for tag, attributes in document.elements if tag == "svg"]
    assert [picture["class"] for picture in pictures] == ["wide", "narrow"]
    assert all(picture["role"] == "img" and "8 x NVIDIA H100" in str(picture["aria-label"]) for picture in pictures)
    assert document.tags.count("caption") == 4  # GPU x NIC, GPU x GPU, GPUs, ports
    for text in ("mlx5_10", "400 Gb/s", "NV18", "all 28 pairs NV18", "NVLink", "NUMA node 1", "DOWN"):
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
    assert document.tags.count("svg") == 2 * 2
    assert document.tags.count("details") == 4


def test_a_laptop_has_no_drawing() -> None:
    document = page(laptop())
    assert "svg" not in document.tags


PAGES = {
    "a problem": page(laptop(), laptop(), mode="rdma", mode_origin=Origin(Layer.EXTRA_VARS, "-e mode")),
    "no problem": page(laptop(), laptop()),
}


def test_the_verdict_and_the_problems_come_first_and_name_their_nodes() -> None:
    failed, good = ([item.get("class") for _tag, item in document.elements] for document in PAGES.values())
    order = [failed.index(name) for name in ("verdict fail", "problem fail", "environment")]
    assert order == sorted(order)
    assert "node0 and node1" in PAGES["a problem"].texts
    assert "problem fail" not in good


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
    document = PageParser(render(report))
    assert not {"script", "img"} & set(document.tags)
    for _tag, attributes in document.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert any(HOSTILE in text for text in document.texts), "shown as it is, not evaluated"
    assert "<b>node1</b>" in document.texts


def test_the_same_facts_give_the_same_page() -> None:
    report = cluster(dgx_h100(), mi300x())
    assert render(report) == render(report)


def test_every_difference_is_on_the_page() -> None:
    broken = dgx_h100()
    broken["rdma"]["hcas"][2]["ports"] = [down()]
    report = cluster(dgx_h100(), dgx_h100(), broken, mi300x())
    document = PageParser(render(report))
    differences = [item for group in groups(report.nodes) for item in group.differences]
    assert len(differences) > DIFFERENCES_SHOWN
    for item in differences:
        assert {", ".join(item.features), item.value, item.usual} <= set(document.texts)


def test_the_label_of_the_direct_links_covers_no_part_of_the_bar() -> None:
    for machine in (dgx_h100(), mi300x()):
        elements = page(machine).elements
        pill = next(attributes for tag, attributes in elements if tag == "rect" and attributes["class"] == "pill own")
        end = float(str(pill["x"])) + float(str(pill["width"]))
        bars = [attributes for tag, attributes in elements if tag == "line" and attributes["class"] == "strip"]
        beside = [strip for strip in bars if strip["y1"] == strip["y2"] == str(float(str(pill["y"])) + 9)]
        assert beside and all(float(str(strip["x1"])) >= end for strip in beside)
