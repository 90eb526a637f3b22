# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of the detected nodes in a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect import rows
from ansible_collections.muster.train.plugins.plugin_utils._detect.text import render
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import Layer, Origin
from ansible_collections.muster.train.tests.support.detect_parts import (
    NO_RDMA,
    answer,
    cluster,
    detected,
    dgx_h100,
    laptop,
)

TRAP = "{{ lookup('ansible.builtin.pipe', 'touch evaluated') }}\x1b[2J\nfake"


def text(*machines: dict[str, Any], width: int = 110, **policy: Any) -> list[str]:
    return render(cluster(*machines, **policy), width)


REQUESTED = {"mode": "rdma", "mode_origin": Origin(Layer.EXTRA_VARS, "-e mode")}
THREE = [answer(f"node{n}", machine, n) for n, machine in enumerate([dgx_h100(), dgx_h100(), laptop()])]
SCREENS = {
    "a node with everything": text(dgx_h100(), version="2.23.4"),
    "a laptop": text(laptop(), width=300),
    "nodes alike": text(laptop(), laptop(), laptop(), head_address="10.0.255.1"),
    "differences, and a silent node": render(detected([*THREE, Silent("node3", "no route")]), 110),
    "RDMA that is missing": text(dgx_h100(), laptop(), width=400, **REQUESTED),
}


def test_a_node_with_everything() -> None:
    [node] = cluster(dgx_h100(), version="2.23.4").nodes
    assert rows.gpu_rows(node.gpu)[3][-3:] == ["0000:61:00.0", "0", "PIX mlx5_5"]
    ports = {row[0]: row[1:7] for row in rows.port_rows(node)}
    assert ports["mlx5_0"] == ["1", "ACTIVE", "400 Gb/s InfiniBand", "", "0", ""]
    assert ports["mlx5_1"] == ["1", "ACTIVE", "200 Gb/s Ethernet", "enp41s0f0np0", "0", "3: 10.1.0.11"]
    assert ports["mlx5_7"][:2] == ["1", "DOWN (Polling)"]
    assert "    NCCL_SOCKET_IFNAME==eth0" in SCREENS["a node with everything"]


def test_a_laptop_without_gpus_has_no_links() -> None:
    assert not any("GPU links" in line or "GPUDirect" in line for line in SCREENS["a laptop"])


@pytest.mark.parametrize("width", [60, 100, 160])
def test_lines_fit_the_terminal(width: int) -> None:
    """But for tables with many columns, and values, which could not be copied if they were broken."""
    lines = text(laptop(), laptop(), width=width, **REQUESTED)
    assert [line for line in lines if len(line) > width] == []
    assert len(lines) > 20


def test_nodes_with_the_same_table_are_shown_once() -> None:
    titles = [line for line in SCREENS["nodes alike"] if line.startswith("node")]
    assert len(titles) == 1
    assert [name in titles[0] for name in ("node0", "node1", "node2")] == [True] * 3


def test_who_is_silent_and_what_is_wrong_is_shown_once() -> None:
    silent = [line for line in SCREENS["differences, and a silent node"] if "no route" in line]
    wrong = [line for line in SCREENS["RDMA that is missing"] if line.startswith("    fail:")]
    assert (len(silent), len(wrong)) == (1, 1)


def test_hostile_names_reach_no_terminal() -> None:
    machine = dgx_h100()
    machine["gpu"]["devices"][0]["name"] = TRAP
    machine["gpu"]["driver_version"] = TRAP
    machine["rdma"]["hcas"][0]["ports"][0].update(netdev=TRAP, reasons=[TRAP], usable=False)
    machine["rdma"]["hcas"][1]["name"] = TRAP
    lines = render(detected([answer("node0", machine), Silent("node1", TRAP)]), 100)
    assert all(line.isprintable() for line in lines)
    assert any("{{ lookup" in line for line in lines)


def closed(vendor: str) -> str:
    """What is said of GPUs that no process here can open."""
    return rows.gpu_summary(cluster({"rdma": NO_RDMA, "gpu": {"vendor": vendor, "count": 0}}).nodes[0].gpu)


@pytest.mark.parametrize(("vendor", "device"), [("nvidia", "/dev/nvidia*"), ("amd", "/dev/kfd")])
def test_gpus_that_are_not_for_us(vendor: str, device: str) -> None:
    assert device in closed(vendor)


UNREADABLE = detected([answer("node0", {"rdma": None, "gpu": None})]).nodes[0]


def test_unreadable_facts_are_not_shown_as_none() -> None:
    [nothing] = cluster(laptop()).nodes
    assert rows.gpu_summary(UNREADABLE.gpu) != rows.gpu_summary(nothing.gpu)
    assert rows.hca_summary(UNREADABLE) != rows.hca_summary(nothing)


def test_a_device_without_ports_has_a_row() -> None:
    machine = dgx_h100()
    machine["rdma"]["hcas"] = [{**machine["rdma"]["hcas"][0], "ports": []}]
    assert rows.port_rows(cluster(machine).nodes[0]) == [["mlx5_0", "", "no port", "", "", "0", "", "no"]]


OVER_TCP = rows.port_rows(cluster(dgx_h100(), laptop()).nodes[0])


def test_over_tcp_no_port_is_for_a_job() -> None:
    assert {row[-1].partition(":")[0] for row in OVER_TCP} == {"no"}
