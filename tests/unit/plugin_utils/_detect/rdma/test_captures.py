# SPDX-License-Identifier: GPL-3.0-or-later
"""What real machines printed, and the machines of tests/machines, from their readers to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.page import render as render_page
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.text import render
from ansible_collections.muster.train.plugins.plugin_utils._verbs.rdma import SUBSET
from ansible_collections.muster.train.tests.support import captures, rdma_trees
from ansible_collections.muster.train.tests.support.html_pages import PageParser, check_structure
from ansible_collections.muster.train.tests.support.machines import MACHINES, Machine, load
from ansible_collections.muster.train.tests.support.rdma_report_parts import reported

QUERY = FactsQuery(workdir="/w", code_dir="/w", subset=SUBSET)
CAPTURES = [
    capture
    for kind in ("rdma", "sysfs")
    for capture in captures.captures(kind)
    if rdma_trees.converter(captures.expected(capture.values[0])["kind"])
]


def check_report(host: LiveHost) -> None:
    """Every device and every port is in the report, and the page is well formed."""
    gathered = gather(host, QUERY)
    assert gathered.rdma is not None and gathered.node.rdma_health is not None
    report = reported([Node.from_facts("node0", gathered.to_facts(QUERY))])
    rows = {section.key: [row[0] for row in section.rows] for section in report.sections["node0"]}
    assert sorted(rows["devices"]) == sorted(rows["pci"]) == sorted(hca.name for hca in gathered.rdma.hcas)
    assert len(rows["ports"]) == len(rows["gids"]) == sum(len(hca.ports) for hca in gathered.rdma.hcas)
    assert all(line.isprintable() for line in render(report, None, 100))
    check_structure(PageParser(render_page(report)))


@pytest.mark.parametrize("path", CAPTURES)
def test_captures(path: Path, tmp_path: Path) -> None:
    convert = rdma_trees.converter(captures.expected(path)["kind"])
    assert convert is not None
    check_report(Machine(convert(captures.text(path)), tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.yml")))
def test_machines(name: str, tmp_path: Path) -> None:
    check_report(load(name, tmp_path))
