# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a node: sockets, groups of what reaches each other below the CPU, and what stands alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.plugin_utils._detect import topology
from ansible_collections.muster.train.plugins.plugin_utils._detect.topology import Group, Socket
from ansible_collections.muster.train.tests.support.detect_parts import dgx_a100, dgx_h100, hca, laptop, mi300x, port


def shape(machine: dict[str, Any], used: tuple[str, ...] = ()) -> list[Socket]:
    return topology.sockets(Rdma.from_dict(machine["rdma"]), Gpu.from_dict(machine["gpu"]), used)


def named(group: Group) -> tuple[str, list[tuple[list[str], list[str]]]]:
    return group.relation, [
        ([chip.label for chip in cluster.chips], [nic.name for nic in cluster.nics]) for cluster in group.clusters
    ]


def test_a_gpu_and_its_nic_behind_one_switch() -> None:
    first, second = shape(dgx_h100())
    assert (first.numa, second.numa) == (0, 1)
    assert [named(group) for group in first.groups] == [
        ("PIX", [(["GPU 0"], ["mlx5_0"])]),
        ("PIX", [(["GPU 1"], ["mlx5_3"])]),
        ("PIX", [(["GPU 2"], ["mlx5_4"])]),
        ("PIX", [(["GPU 3"], ["mlx5_5"])]),
        ("", [([], ["mlx5_1"])]),
    ]
    assert [named(group)[1] for group in second.groups][-1] == [([], ["mlx5_7"])]


def test_switches_behind_a_switch() -> None:
    first, _second = shape(dgx_a100())
    assert [named(group) for group in first.groups] == [
        ("PXB", [(["GPU 0"], ["mlx5_0"]), (["GPU 1"], ["mlx5_1"])]),
        ("PXB", [(["GPU 2"], ["mlx5_2"]), (["GPU 3"], ["mlx5_3"])]),
    ]


def test_where_the_nearest_is_pxb() -> None:
    assert named(shape(mi300x())[1].groups[0]) == ("PXB", [(["GPU 4"], ["bnxt_re4"])])


def test_without_pci_groups_nothing_is_joined() -> None:
    """As on GB200 or in a VM: all SYS, no NUMA node."""
    machine = dgx_h100()
    for link in machine["gpu"]["nic_links"]:
        link["relation"] = "SYS"
    for device in [*machine["gpu"]["devices"], *machine["rdma"]["hcas"]]:
        device["numa_node"] = None
    (only,) = shape(machine)
    assert only.numa is None
    assert {group.relation for group in only.groups} == {""}
    first, *_others, last = only.groups
    assert named(first)[1] == [(["GPU 0"], ["mlx5_0"])]
    assert named(last)[1] == [([], ["mlx5_11"])]


def test_nothing() -> None:
    assert shape(laptop()) == []
    assert topology.sockets(None, None, ()) == []


def test_partitions_are_one_box() -> None:
    machine = mi300x()
    device = machine["gpu"]["devices"][0]
    machine["gpu"]["devices"] = [
        {**device, "index": 4 * board + part, "partition": "CPX", "pci_address": f"0000:{board:02x}:00.{part}"}
        for board in range(2)
        for part in range(4)
    ]
    machine["gpu"]["nic_links"] = []
    boxes = [chip for socket in shape(machine) for g in socket.groups for c in g.clusters for chip in c.chips]
    assert [(chip.label, chip.memory) for chip in boxes] == [
        ("GPU 0-3", "4 x CPX 192 GiB"),
        ("GPU 4-7", "4 x CPX 192 GiB"),
    ]


@pytest.mark.parametrize(
    ("changes", "used", "state", "speed"),
    [
        ({}, True, "used", "400 Gb/s"),
        ({}, False, "usable", "400 Gb/s"),
        ({"usable": False, "reasons": ["no subnet manager"]}, False, "unusable", "400 Gb/s"),
        ({"state": "DOWN", "usable": False, "reasons": ["DOWN"]}, False, "unusable", "DOWN"),
        ({"rate_gbps": None}, False, "usable", "rate not known"),
    ],
)
def test_nics(changes: dict[str, Any], used: bool, state: str, speed: str) -> None:
    rdma = Rdma.from_dict({**dgx_h100()["rdma"], "hcas": [hca("mlx5_0", "18", 0, port(**changes))]})
    (nic,) = topology.nics(rdma, None, ["mlx5_0"] if used else [])
    assert (nic.state, nic.speed, nic.detail) == (state, speed, "MT4129")
    assert nic.why == "; ".join(changes.get("reasons", []))


def test_a_device_without_ports() -> None:
    rdma = Rdma.from_dict({**dgx_h100()["rdma"], "hcas": [hca("rdmap0", "18", None)]})
    (nic,) = topology.nics(rdma, None, [])
    assert (nic.state, nic.speed, nic.up) == ("unusable", "no port", False)


def test_links_to_missing_devices_are_left_out() -> None:
    machine = copy.deepcopy(dgx_h100())
    machine["gpu"]["nic_links"] += [{"gpu": 99, "nic": "mlx5_0", "relation": "PIX"}]
    machine["gpu"]["nic_links"] += [{"gpu": 0, "nic": "gone", "relation": "PIX"}]
    assert shape(machine) == shape(dgx_h100())


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
        ("AMD Instinct MI300X OAM", "MI300X OAM"),
        ("Tesla V100", "Tesla V100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        (None, "GPU, name not known"),
    ],
)
def test_short_name(name: str | None, short: str) -> None:
    assert topology.short_name(name) == short
