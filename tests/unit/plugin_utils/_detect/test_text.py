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


def words(lines: list[str], *first: str) -> list[str]:
    """The words of the line that begins with these."""
    rows = [line.split() for line in lines if tuple(line.split()[: len(first)]) == first]
    assert len(rows) == 1, (first, rows)
    return rows[0]


def test_a_node_with_everything() -> None:
    lines = text(dgx_h100(), version="2.23.4")
    assert lines[0] == "node0"
    assert "  GPUs:       8 x NVIDIA H100 80GB HBM3, 80 GiB, driver 550.54.15, CUDA 12.4" in lines
    assert "  GPU links:  all 28 pairs NV18" in lines
    assert "  HCAs:       10, 8 for a job" in lines
    assert "  library:    NCCL 2.23.4 (given)" in lines
    assert words(lines, "3", "H100")[-4:] == ["0000:61:00.0", "0", "PIX", "mlx5_5"]
    assert words(lines, "mlx5_0")[1:] == ["1", "ACTIVE", "400", "Gb/s", "InfiniBand", "0", "yes"]
    assert " ".join(words(lines, "mlx5_1")[4:]) == "Gb/s Ethernet enp41s0f0np0 0 3: 10.1.0.11 no: usable, not chosen"
    assert words(lines, "mlx5_7")[1:4] == ["1", "DOWN", "(Polling)"]
    assert (
        lines.index("  would be set")
        < lines.index("  not set, on purpose")
        < lines.index("cluster: 1 node, 1 answered")
    )
    assert "    NCCL_SOCKET_IFNAME==eth0" in lines


def test_a_laptop_without_gpus_gets_advice() -> None:
    lines = text(laptop(), width=300)
    (gpus,) = [line for line in lines if line.startswith("  GPUs:")]
    (hcas,) = [line for line in lines if line.startswith("  HCAs:")]
    assert "none that a process here can open" in gpus and "install the GPU's driver" in gpus
    assert "none under /sys/class/infiniband" in hcas and "load the adapter's driver" in hcas
    assert not any("GPU links" in line or "GPUDirect" in line for line in lines)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_lines_fit_the_terminal(width: int) -> None:
    """But for tables with many columns, and values, which could not be copied if they were broken."""
    lines = text(laptop(), laptop(), mode="rdma", mode_origin=Origin(Layer.EXTRA_VARS, "-e mode"), width=width)
    assert [line for line in lines if len(line) > width] == []
    assert len(lines) > 20


def test_nodes_with_the_same_table_are_shown_once() -> None:
    lines = text(laptop(), laptop(), laptop(), head_address="10.0.255.1")
    assert lines[0] == "node0, node1, node2 (3 nodes alike)"
    assert "  3 nodes alike: node0, node1 and node2" in lines


def test_the_summary_names_differences_and_who_is_silent() -> None:
    answers = [answer(f"node{n}", machine, n) for n, machine in enumerate([dgx_h100(), dgx_h100(), laptop()])]
    lines = render(detected([*answers, Silent("node3", "no route to host")]), 110)
    summary = lines[lines.index("cluster: 4 nodes, 3 answered") :]
    assert "  2 nodes alike: node0 and node1" in summary
    assert "  node2: differs in" in summary
    assert "    GPUs: 0 (node0: 8)" in summary
    assert "  node3: no answer: no route to host" in summary


def test_what_is_wrong_says_what_to_do() -> None:
    lines = text(dgx_h100(), laptop(), mode="rdma", mode_origin=Origin(Layer.EXTRA_VARS, "-e mode"), width=400)
    (wrong,) = [line for line in lines if line.startswith("    fail:")]
    assert "-e mode=tcp" in wrong
    assert "mode=rdma (-e mode)" in wrong


def test_hostile_names_reach_no_terminal() -> None:
    machine = dgx_h100()
    machine["gpu"]["devices"][0]["name"] = TRAP
    machine["gpu"]["driver_version"] = TRAP
    machine["rdma"]["hcas"][0]["ports"][0].update(netdev=TRAP, reasons=[TRAP], usable=False)
    machine["rdma"]["hcas"][1]["name"] = TRAP
    lines = render(detected([answer("node0", machine), Silent("node1", TRAP)]), 100)
    assert all(line.isprintable() for line in lines)
    assert any("{{ lookup" in line for line in lines)


@pytest.mark.parametrize(("vendor", "device"), [("nvidia", "/dev/nvidia*"), ("amd", "/dev/kfd")])
def test_gpus_that_are_not_for_us(vendor: str, device: str) -> None:
    machine = {"rdma": NO_RDMA, "gpu": {"vendor": vendor, "count": 0}}
    assert device in rows.gpu_summary(cluster(machine).nodes[0].gpu)


def test_unreadable_facts_are_not_shown_as_none() -> None:
    (node,) = detected([answer("node0", {"rdma": None, "gpu": None})]).nodes
    assert rows.gpu_summary(node.gpu).startswith("not known")
    assert rows.hca_summary(node).startswith("not known")


def test_a_device_without_ports_has_a_row() -> None:
    machine = dgx_h100()
    machine["rdma"]["hcas"] = [{**machine["rdma"]["hcas"][0], "ports": []}]
    assert rows.port_rows(cluster(machine).nodes[0]) == [["mlx5_0", "", "no port", "", "", "0", "", "no"]]


def test_over_tcp_no_port_is_for_a_job_and_it_says_so() -> None:
    report = cluster(dgx_h100(), laptop())
    assert {row[-1] for row in rows.port_rows(report.nodes[0])} == {
        "no: usable, but nodes use TCP",
        "no: port is DOWN, not ACTIVE",
    }
