# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are alike, and in what the others differ."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import NodeAnswer, Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect.groups import Alike, Difference, groups
from ansible_collections.muster.train.tests.support.detect_parts import answer, cluster, detected, dgx_h100


def down(name: str) -> dict[str, Any]:
    machine = dgx_h100()
    for hca in machine["rdma"]["hcas"]:
        if hca["name"] == name:
            hca["ports"][0].update(state="DOWN", usable=False, reasons=["port is DOWN, not ACTIVE"])
    return machine


def test_all_alike() -> None:
    assert groups(cluster(*[dgx_h100()] * 8).nodes) == [Alike(tuple(f"node{n}" for n in range(8)), ())]


def test_addresses_and_serial_numbers_are_not_compared() -> None:
    other = dgx_h100()
    for number, hca in enumerate(other["rdma"]["hcas"]):
        hca["node_guid"] = f"a088:c203:0012:{number:04x}"
        hca["ports"][0]["lid"] = number
        hca["ports"][0]["counters"] = {"link_downed": number}
    for number, device in enumerate(other["gpu"]["devices"]):
        device["uuid"] = f"GPU-{number}"
    assert len(groups(cluster(dgx_h100(), other).nodes)) == 1


def test_the_odd_node_is_named_with_its_differences() -> None:
    result = groups(cluster(dgx_h100(), down("mlx5_4"), dgx_h100()).nodes)
    assert [group.nodes for group in result] == [("node0", "node2"), ("node1",)]
    assert result[0].differences == ()
    ports = [difference for difference in result[1].differences if difference.features == ("mlx5_4 port 1",)]
    assert ports == [
        Difference(
            ("mlx5_4 port 1",),
            "DOWN, 400 Gb/s InfiniBand, not usable",
            "ACTIVE, 400 Gb/s InfiniBand, usable",
            "node0",
        )
    ]


def test_parts_of_what_is_missing_are_no_differences() -> None:
    other = dgx_h100()
    other["rdma"]["hcas"] = [hca for hca in other["rdma"]["hcas"] if hca["name"] != "mlx5_7"]
    differences = groups(cluster(dgx_h100(), dgx_h100(), other).nodes)[1].differences
    assert [item.features for item in differences] == [("HCAs",), ("mlx5_7",)]


def test_the_same_difference_of_several_features_is_shown_once() -> None:
    other = dgx_h100()
    for hca in other["rdma"]["hcas"]:
        hca["fw_ver"] = "28.43.1014"
    differences = groups(cluster(dgx_h100(), dgx_h100(), other).nodes)[1].differences
    assert len(differences) == 2  # by NUMA node
    assert differences[0].features == ("mlx5_0", "mlx5_1", "mlx5_3", "mlx5_4", "mlx5_5")
    assert "28.43.1014" in differences[0].value and "28.39.1002" in differences[0].usual


def test_what_only_one_side_has() -> None:
    other = dgx_h100()
    del other["rdma"]["hcas"][-1]
    values = {
        difference.features: (difference.value, difference.usual)
        for difference in groups(cluster(dgx_h100(), other).nodes)[1].differences
    }
    assert values["HCAs",] == ("9", "10")
    assert values["mlx5_7",][0] == "none"


def test_nodes_without_an_answer_are_in_no_group() -> None:
    answers: list[NodeAnswer] = [answer("node0", dgx_h100()), Silent("node1", "no route to host")]
    assert [group.nodes for group in groups(detected(answers).nodes)] == [("node0",)]
    assert groups([]) == []
