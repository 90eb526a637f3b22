# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the GPUs of one node, and what is only unusual."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.topology import nvlinks, parse_topology
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, Link
from ansible_collections.muster.train.plugins.plugin_utils._checks.gpu_findings import (
    find_gpus,
    missing,
    off_fabric,
    unlike,
)
from ansible_collections.muster.train.tests.support.captures import captures, expected, text


def node(count: int, word: Callable[[int, int], str], vendor: str = "nvidia") -> Gpu:
    """A node of equal GPUs with what lies between a and b."""
    links = [Link(a, b, word(a, b), nvlinks(word(a, b))) for a in range(count) for b in range(a + 1, count)]
    devices = [Device(index, "H100", f"GPU-{index}", f"0000:{index:02x}:00.0", 0, 81559) for index in range(count)]
    return Gpu(vendor, count, devices=devices, links=links)


def test_a_whole_node() -> None:
    assert find_gpus("a", node(8, lambda _a, _b: "NV18")) == []
    assert find_gpus("a", node(8, lambda _a, _b: "XGMI", "amd")) == []
    assert find_gpus("a", node(4, lambda _a, _b: "NODE")) == []
    assert find_gpus("a", Gpu(None, 0)) == []


def test_a_gpu_off_the_fabric() -> None:
    findings = find_gpus("node2", node(8, lambda a, b: ("SYS" if b > 3 else "NODE") if 3 in (a, b) else "NV18"))
    assert [(finding.check, finding.node, finding.status) for finding in findings] == [("gpus", "node2", "warn")]
    assert findings[0].observed == "GPU 3 (0000:03:00.0) is NODE, SYS to the others, which have NV18 among them"
    assert "Xid 74" in str(findings[0].remedy)


def test_two_gpus_off_the_fabric() -> None:
    findings = off_fabric("a", node(8, lambda a, b: "SYS" if {a, b} & {0, 7} else "NV12"))
    assert [finding.observed.split(" is ")[0] for finding in findings] == [
        "GPU 0 (0000:00:00.0)",
        "GPU 7 (0000:07:00.0)",
    ]


def test_off_xgmi() -> None:
    findings = off_fabric("a", node(8, lambda a, b: "PCIE" if 5 in (a, b) else "XGMI", "amd"))
    assert [finding.observed for finding in findings] == [
        "GPU 5 (0000:05:00.0) is PCIE to the others, which have XGMI among them"
    ]
    assert "xgmi" in str(findings[0].remedy)


def test_fewer_nvlinks_than_the_others() -> None:
    findings = off_fabric("a", node(8, lambda a, b: "NV16" if 2 in (a, b) else "NV18"))
    assert [finding.observed for finding in findings] == [
        "GPU 2 (0000:02:00.0) has at most 16 NVLinks to another GPU; the others have 18 between them"
    ]


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(lambda a, b: "NV4" if (a, b) == (0, 1) else "NODE", id="a bridge"),
        pytest.param(lambda a, b: "NV3" if b == a + 1 and a % 2 == 0 else "SYS", id="pairs"),
        pytest.param(lambda a, b: "XGMI" if a // 4 == b // 4 else "PCIE", id="two hives"),
        pytest.param(
            lambda a, b: "SYS" if (a ^ b) in (5, 6, 7) else "NV2" if (a ^ b) in (3, 4) else "NV1", id="cube mesh"
        ),
    ],
)
def test_fabrics_that_are_so_by_design(word: Callable[[int, int], str]) -> None:
    assert off_fabric("a", node(8, word)) == []


def test_a_table_that_is_cut_says_nothing() -> None:
    gpu = node(8, lambda a, b: "SYS" if 7 in (a, b) else "NV18")
    cut = [link for link in gpu.links if link.b != 7 or link.a < 2]
    assert off_fabric("a", dataclasses.replace(gpu, links=cut)) == []


@pytest.mark.parametrize("path", captures("nvidia_topo"))
def test_captures(path: Path) -> None:
    topology = parse_topology(text(path))
    links = [
        Link(a, b, word, nvlinks(word))
        for a in range(len(topology.gpus))
        for b in range(a + 1, len(topology.gpus))
        if (word := topology.relation(f"GPU{a}", f"GPU{b}"))
    ]
    indexes = [
        finding.observed.split()[1] for finding in off_fabric("a", Gpu("nvidia", len(topology.gpus), links=links))
    ]
    wanted = expected(path)
    without = {gpu[3:] for gpu, counts in wanted.get("nvlinks", {}).items() if not counts}
    assert set(indexes) <= (without if "gpu_gpu" in wanted else set())


def test_different_gpus() -> None:
    gpu = node(2, lambda _a, _b: "PHB")
    other = [gpu.devices[0], dataclasses.replace(gpu.devices[1], name="A100", memory_mib=40960)]
    findings = unlike("a", dataclasses.replace(gpu, devices=other))
    assert [finding.observed for finding in findings] == ["GPUs of different name: H100 (GPU 0); A100 (GPU 1)"]
    smaller = [gpu.devices[0], dataclasses.replace(gpu.devices[1], memory_mib=40960)]
    findings = unlike("a", dataclasses.replace(gpu, devices=smaller))
    assert [finding.observed for finding in findings] == [
        "GPUs of different memory: 81559 MiB (GPU 0); 40960 MiB (GPU 1)"
    ]
    unknown = [gpu.devices[0], dataclasses.replace(gpu.devices[1], memory_mib=None, name=None)]
    assert unlike("a", dataclasses.replace(gpu, devices=unknown)) == []
    parts = [gpu.devices[0], dataclasses.replace(gpu.devices[1], memory_mib=10240, partition="1g.10gb")]
    assert unlike("a", dataclasses.replace(gpu, devices=parts)) == []


def test_a_gpu_that_has_fallen_off_the_bus() -> None:
    gpu = node(8, lambda _a, _b: "NV18")
    findings = missing("a", dataclasses.replace(gpu, devices=gpu.devices[:7]))
    assert [(finding.status, finding.observed) for finding in findings] == [
        ("fail", "8 GPUs can be opened, but the driver lists 7")
    ]
    # Seven partitions of one GPU are one GPU; without the tool none was listed.
    one = Device(0, pci_address="0000:01:00.0", partition="1g.10gb")
    assert missing("a", Gpu("nvidia", 1, devices=[one] * 7)) == []
    assert missing("a", Gpu("nvidia", 8)) == []
    assert missing("a", Gpu("amd", 8, devices=gpu.devices[:7])) == []
