# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the GPUs of one node, and what is only unusual."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.topology import nvlinks, parse_topology
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, GpuFault, Link
from ansible_collections.muster.train.plugins.plugin_utils._checks.gpu_findings import (
    find_gpus,
    missing,
    off_fabric,
    unlike,
)
from ansible_collections.muster.train.tests.support.captures import captures, expected, text
from ansible_collections.muster.train.tests.support.cases import Case, outcomes


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


WHOLE = node(8, lambda _a, _b: "NV18")
SEVEN = dataclasses.replace(WHOLE, devices=WHOLE.devices[:7])
PAIR = node(2, lambda _a, _b: "PHB")


def second(**values: Any) -> Gpu:
    """Two GPUs of which the second has these values."""
    return dataclasses.replace(PAIR, devices=[PAIR.devices[0], dataclasses.replace(PAIR.devices[1], **values)])


def case(name: str, gpu: Gpu, status: str = "warn", count: int = 1) -> Case:
    return Case(name, lambda: find_gpus("node2", gpu), [("gpus", "node2", status)] * count)


CASES = [
    case(
        "a GPU off the fabric",
        node(8, lambda a, b: ("SYS" if b > 3 else "NODE") if 3 in (a, b) else "NV18"),
    ),
    case("two GPUs off the fabric", node(8, lambda a, b: "SYS" if {a, b} & {0, 7} else "NV12"), count=2),
    case("a GPU off xGMI", node(8, lambda a, b: "PCIE" if 5 in (a, b) else "XGMI", "amd")),
    case("fewer NVLinks than the others", node(8, lambda a, b: "NV16" if 2 in (a, b) else "NV18")),
    case("GPUs of different names", second(name="A100", memory_mib=40960)),
    case("GPUs of different memory", second(memory_mib=40960)),
    case("a GPU that has fallen off the bus", SEVEN, "fail"),
    case(
        "another one needs a reset",
        dataclasses.replace(SEVEN, faults=[GpuFault("reset", "GPU requires reset", "nvidia-smi", "0000:01:00.0")]),
        "fail",
        count=2,
    ),
    case(
        "no GPU answers, of which the driver lists seven",
        dataclasses.replace(SEVEN, faults=[GpuFault("versions", "version mismatch", "nvidia-smi")]),
        "fail",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_wrong_with_gpus(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


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
    gpu = Gpu("nvidia", len(topology.gpus), links=links)
    wanted = expected(path)
    without = {int(name[3:]) for name, counts in wanted.get("nvlinks", {}).items() if not counts}
    assert len(off_fabric("a", gpu)) <= (len(without) if "gpu_gpu" in wanted else 0)
    others = [link for link in links if not {link.a, link.b} & without]
    assert off_fabric("a", dataclasses.replace(gpu, links=others)) == []


def test_gpus_that_may_differ() -> None:
    assert unlike("a", second(memory_mib=None, name=None)) == []
    assert unlike("a", second(memory_mib=10240, partition="1g.10gb")) == []


def test_gpus_that_the_driver_need_not_list() -> None:
    # Seven partitions of one GPU are one GPU; without the tool none was listed.
    one = Device(0, pci_address="0000:01:00.0", partition="1g.10gb")
    assert missing("a", Gpu("nvidia", 1, devices=[one] * 7)) == []
    assert missing("a", Gpu("nvidia", 8)) == []
    assert missing("a", Gpu("amd", 8, devices=WHOLE.devices[:7])) == []
