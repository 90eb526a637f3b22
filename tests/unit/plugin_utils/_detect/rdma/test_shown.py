# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on RDMA in a terminal and as a page."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.page import render as render_page
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.report import RdmaReport
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.text import render
from ansible_collections.muster.train.tests.support.html_pages import HOSTILE, PageParser, check_structure
from ansible_collections.muster.train.tests.support.preflight_parts import Facts, facts_of
from ansible_collections.muster.train.tests.support.rdma_report_parts import (
    as_it_is,
    closed_device,
    many,
    nodes_with,
    old_firmware,
    reported,
    symbol_errors,
)

LAPTOP = reported([Node.from_facts("node0", facts_of("laptop", 0))])
DIFFERENT = reported(nodes_with(as_it_is, symbol_errors, old_firmware, closed_device))
REPORTS: dict[str, RdmaReport] = {
    "a node without adapters": LAPTOP,
    "one that differs, and one with errors": DIFFERENT,
}


def hostile(facts: Facts) -> None:
    hca = facts["rdma"]["hcas"][0]
    hca.update(fw_ver=HOSTILE, driver=HOSTILE)
    hca["ports"][0].update(reasons=[HOSTILE], usable=False, netdev=HOSTILE)
    facts["node"]["rdma_health"]["tools"] = {"ibstat": HOSTILE}
    facts["node"]["kernel"]["release"] = HOSTILE


@pytest.mark.parametrize("name", REPORTS)
def test_lines_and_page(name: str) -> None:
    lines = render(REPORTS[name], None, 100)
    assert all(line.isprintable() for line in lines)
    check_structure(PageParser(render_page(REPORTS[name])))


def test_the_number_of_nodes_makes_the_report_no_longer() -> None:
    two, many_nodes = (render(reported(many(count)), None, 120) for count in (2, 128))
    assert [line for line in many_nodes if line not in two] == [many_nodes[0], many_nodes[2]]
    assert len(many_nodes) == len(two)


def test_the_whole_report_is_on_the_node_that_is_wanted() -> None:
    usual, wanted = (render(DIFFERENT, node, 120) for node in (None, "node2"))
    assert [line.split()[4] for line in (*usual, *wanted) if line.split()[:2] == ["mlx5_0", "CA"]] == [
        "28.39.1002",
        "28.38.1002",
    ]


def test_a_node_that_did_not_answer_has_no_report() -> None:
    assert not any("Devices" in line for line in render(DIFFERENT, "node9", 120))


def test_what_a_host_says_is_neither_markup_nor_a_command_of_the_terminal() -> None:
    report = reported(nodes_with(hostile, as_it_is))
    assert all(line.isprintable() for line in render(report, "node0", 120))
    document = PageParser(render_page(report))
    check_structure(document)
    assert HOSTILE in document.texts
