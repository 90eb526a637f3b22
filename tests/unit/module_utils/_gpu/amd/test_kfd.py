# SPDX-License-Identifier: GPL-3.0-or-later
"""KFD's topology in sysfs: nodes, addresses, partitions, links."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.kfd import (
    NODES,
    KfdNode,
    parse_properties,
    read_links,
    read_memory,
    read_nodes,
    read_processors,
    read_relations,
)
from ansible_collections.muster.train.tests.support.amd_machines import KfdGpu, machine, mi250, properties
from ansible_collections.muster.train.tests.support.machines import Machine


def test_properties_are_lines_of_a_name_and_a_number() -> None:
    text = "simd_count 1216\n\nname aldebaran\nhive_id 18091350218769748594\nodd\ntoo many 1\nlimit -1\n"
    assert parse_properties(text) == {"simd_count": 1216, "hive_id": 18091350218769748594, "limit": -1}


@pytest.mark.parametrize(
    ("location", "domain", "address"),
    [
        (0x6300, 0, "0000:63:00.0"),
        (0x8003, 0, "0000:80:00.3"),  # the kernel's way: the partition in place of the function
        (3 << 28 | 0x8000, 0, "0000:80:00.3"),  # the way of some of AMD's drivers: in bits 31:28
        (0x0D28, 0x10000, "10000:0d:05.0"),
        (0, 2, "0002:00:00.0"),  # as in some clouds
        (0, 0, None),
    ],
)
def test_the_address_of_a_node(location: int, domain: int, address: str | None) -> None:
    assert KfdNode(2, location_id=location, domain=domain).address == address


@pytest.mark.parametrize(("version", "name"), [(90402, "gfx942"), (90010, "gfx90a"), (110000, "gfx1100"), (0, None)])
def test_the_name_of_the_instruction_set(version: int, name: str | None) -> None:
    assert KfdNode(2, gfx_target_version=version).gfx == name


def test_nodes_come_by_number_and_the_foreign_ones_of_a_container_apart(tmp_path: Path) -> None:
    made = machine([KfdGpu(bus << 8, bus) for bus in range(1, 11)])
    made["files"][f"{NODES}/3/properties"] = ""
    made["errors"] = {f"{NODES}/4/properties": "EPERM"}
    del made["files"][f"{NODES}/4/properties"]
    made["files"][f"{NODES}/notes/properties"] = "simd_count 1\n"
    kfd = read_nodes(Machine(made, tmp_path))
    assert [node.number for node in kfd.nodes] == [0, 1, 2, 5, 6, 7, 8, 9, 10, 11]
    assert kfd.unreadable == [3, 4]
    assert kfd.processors == [0, 1]


def test_the_oldest_layout_has_defaults(tmp_path: Path) -> None:
    kfd = read_nodes(Machine({"files": {f"{NODES}/1/properties": "simd_count 256\n"}}, tmp_path))
    assert kfd.nodes == [KfdNode(1, simd_count=256)]


def test_without_kfd_there_are_no_nodes(tmp_path: Path) -> None:
    kfd = read_nodes(Machine({}, tmp_path))
    assert (kfd.nodes, kfd.unreadable) == ([], [])


def test_memory_is_that_of_the_frame_buffers(tmp_path: Path) -> None:
    banks = f"{NODES}/2/mem_banks"
    files = {
        f"{banks}/0/properties": properties(heap_type=1, size_in_bytes=1000),
        f"{banks}/1/properties": properties(heap_type=2, size_in_bytes=200),
        f"{banks}/2/properties": properties(heap_type=0, size_in_bytes=4),
    }
    host = Machine({"files": files}, tmp_path)
    assert read_memory(host, KfdNode(2)) == 1200
    assert read_memory(host, KfdNode(3)) is None


def test_dies_of_one_hive_are_xgmi_over_several_hops_too(tmp_path: Path) -> None:
    host = Machine(mi250(), tmp_path)
    kfd = read_nodes(host)
    gpus = kfd.nodes[2:]
    assert {link.weight for link in read_links(host, gpus[0]) if link.type == 11} == {15, 30}
    relations = read_relations(host, kfd, gpus)
    assert list(relations) == [(a, b) for a in range(8) for b in range(a + 1, 8)]
    assert set(relations.values()) == {"XGMI"}


def test_cards_without_a_link_of_their_own_are_pcie_when_both_hang_on_processors(tmp_path: Path) -> None:
    made = machine([KfdGpu(0x0100, 1, 0, 0), KfdGpu(0x4100, 2, 1, 0), KfdGpu(0x8100, 3, 1, 0)])
    del made["files"][f"{NODES}/4/io_links/0/properties"]
    host = Machine(made, tmp_path)
    kfd = read_nodes(host)
    assert read_relations(host, kfd, kfd.nodes[2:]) == {(0, 1): "PCIE", (0, 2): None, (1, 2): None}
    assert [read_processors(host, kfd, gpu) for gpu in kfd.nodes[2:]] == [0, 1, None]


def test_a_link_reported_by_one_end_is_enough(tmp_path: Path) -> None:
    made = machine([KfdGpu(0x0100, 1, 0, 0), KfdGpu(0x4100, 2, 1, 0)])
    made["files"][f"{NODES}/3/io_links/7/properties"] = properties(type=11, node_to=2, weight=15)
    made["files"][f"{NODES}/3/io_links/8/properties"] = "cut"
    host = Machine(made, tmp_path)
    kfd = read_nodes(host)
    assert read_relations(host, kfd, kfd.nodes[2:]) == {(0, 1): "XGMI"}
