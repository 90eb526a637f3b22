# SPDX-License-Identifier: GPL-3.0-or-later
"""The topology file of a VM."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.virtual_topology import (
    parse_hypervisor,
    parse_topology_setting,
    read_topology_file,
)
from ansible_collections.muster.train.plugins.module_utils._records.gpu import TopologyFile
from ansible_collections.muster.train.tests.support.machines import Machine

DEFAULT = "/var/run/nvidia-topologyd/virtualTopology.xml"
NDV4, NDV5 = "/opt/microsoft/ndv4-topo.xml", "/opt/microsoft/ndv5-topo.xml"
CONFIGURATION = "/etc/nccl.conf"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE={NDV4}\n", NDV4),
        (f"NCCL_TOPO_FILE={NDV4}\nNCCL_TOPO_FILE={NDV5}\n", NDV4),
        (f"#NCCL_TOPO_FILE={NDV4}\n NCCL_TOPO_FILE={NDV5}\nNCCL_TOPO_FILE=\n", None),
        ("", None),
    ],
)
def test_the_file_that_the_configuration_names(text: str, path: str | None) -> None:
    assert parse_topology_setting(text) == path


@pytest.mark.parametrize(
    ("text", "virtual"),
    [
        ("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n", True),
        ("processor\t: 0\nflags\t\t: fpu lahf_lm\n", False),
        ("processor\t: 0\nFeatures\t: fp asimd\n", None),
    ],
)
def test_a_virtual_machine_has_a_flag(text: str, virtual: bool | None) -> None:
    assert parse_hypervisor(text) is virtual


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({DEFAULT: "", CONFIGURATION: f"NCCL_TOPO_FILE={NDV4}\n", NDV4: ""}, TopologyFile(DEFAULT, None)),
        # Azure's images have the files of all kinds; a service of theirs names the right one.
        ({CONFIGURATION: f"NCCL_TOPO_FILE={NDV5}\n", NDV4: "", NDV5: ""}, TopologyFile(NDV5, CONFIGURATION)),
        ({CONFIGURATION: f"NCCL_TOPO_FILE={NDV5}\n", NDV4: ""}, None),
        ({CONFIGURATION: "NCCL_TOPO_FILE=opt/a.xml\n", "/opt/a.xml": ""}, None),
        ({NDV4: "", NDV5: ""}, None),
        ({NDV4: "", "/opt/microsoft/version": ""}, TopologyFile(NDV4, "/opt/microsoft")),
    ],
)
def test_where_the_file_is(files: dict[str, str], expected: TopologyFile | None, tmp_path: Path) -> None:
    assert read_topology_file(Machine({"files": files}, tmp_path)) == expected
