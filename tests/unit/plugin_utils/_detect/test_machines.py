# SPDX-License-Identifier: GPL-3.0-or-later
"""Every machine of tests/machines, from its readers to the terminal, the page and the files."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._detect import files
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import ClusterReport
from ansible_collections.muster.train.plugins.plugin_utils._detect.drawing import NARROW, WIDE, Text, draw
from ansible_collections.muster.train.plugins.plugin_utils._detect.page import render as render_page
from ansible_collections.muster.train.plugins.plugin_utils._detect.text import render
from ansible_collections.muster.train.plugins.plugin_utils._detect.topology import chips, sockets
from ansible_collections.muster.train.tests.support.detect_parts import detected
from ansible_collections.muster.train.tests.support.machines import MACHINES, load

pytestmark = pytest.mark.slow

ASKED = FactsQuery(workdir="/home/ann/muster", code_dir="/home/ann/muster")


@pytest.fixture(scope="module", params=sorted(path.stem for path in MACHINES.glob("*.yml")))
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ClusterReport:
    name = str(request.param)
    gathered = gather(load(name, tmp_path_factory.mktemp(name)), ASKED)
    assert gathered.rdma is not None and gathered.gpu is not None, gathered.warnings
    return detected([Node.from_facts(name, gathered.to_facts(ASKED), name)])


def test_every_machine_is_rendered_completely(report: ClusterReport) -> None:
    (node,) = report.nodes
    assert node.rdma is not None and node.gpu is not None
    lines = render(report, 120)
    page = render_page(report)
    assert all(line.isprintable() for line in lines)
    first = [line.split()[0] for line in lines if line.split()]
    for hca in node.rdma.hcas:
        assert first.count(hca.name) >= max(1, len(hca.ports))
        assert f">{hca.name}<" in page
    for device in node.gpu.devices:
        assert str(device.index) in first
        assert f">GPU {device.index}<" in page
    for variable in node.environment:
        assert f"    {variable.name}={variable.value}" in lines
    for item in node.not_set:
        assert item.name in first


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_everything_is_drawn_once(report: ClusterReport, width: float) -> None:
    (node,) = report.nodes
    assert node.rdma is not None
    picture = draw(sockets(node.rdma, node.gpu, node.hcas), "", width)
    names = [shape.text for shape in picture.shapes if isinstance(shape, Text) and shape.style == "name"]
    assert len(names) == len(node.rdma.hcas) + len(chips(node.gpu))
    assert len(set(names)) == len(names)


def test_every_file_can_be_written(report: ClusterReport) -> None:
    for write in files.WRITERS.values():
        text = write(report.nodes[0])
        values = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert all("=" in line for line in values)
