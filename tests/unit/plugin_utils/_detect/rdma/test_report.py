# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections of a node, which nodes are alike, and what the checks say about a section."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._rdma import port
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import BY_NAME
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.hardware import COUNTERS
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.report import CHECKS, CHECKS_OF, RdmaReport
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.section import Section
from ansible_collections.muster.train.plugins.plugin_utils._verbs.rdma import SUBSET
from ansible_collections.muster.train.tests.support.preflight_parts import facts_of
from ansible_collections.muster.train.tests.support.rdma_report_parts import (
    as_it_is,
    closed_device,
    nodes_with,
    old_firmware,
    reported,
    symbol_errors,
    without_an_adapter,
)


def section(report: RdmaReport, key: str, node: str = "node0") -> Section:
    [wanted] = [part for part in report.sections[node] if part.key == key]
    return wanted


def differences(report: RdmaReport) -> dict[str, tuple[str, str]]:
    """In what the second group differs: the value there, and the usual one."""
    [_usual, other] = report.alike
    return {name: (item.value, item.usual) for item in other.differences for name in item.features}


def test_every_section_has_checks_that_can_run() -> None:
    report = reported(nodes_with(as_it_is))
    assert [part.key for part in report.sections["node0"]] == list(CHECKS_OF)
    assert {*CHECKS} <= {*BY_NAME}
    assert {need for name in CHECKS for need in BY_NAME[name].needs} <= {*SUBSET}
    assert len({*CHECKS}) == len(CHECKS)


def test_every_counter_that_is_read_has_its_words() -> None:
    assert {*COUNTERS} == {*port.COUNTERS, *port.HW_COUNTERS}


def test_what_is_shown_of_a_node() -> None:
    report = reported(nodes_with(as_it_is))
    rows = {key: {row[0]: row[1:] for row in section(report, key).rows} for key in CHECKS_OF}
    assert rows["devices"]["mlx5_0"] == (
        "CA",
        "MT4129",
        "MT_0000000838",
        "28.39.1002",
        "mlx5_core",
        "b83f:0000:0020:0044",
    )
    assert rows["pci"]["mlx5_bond_0"][:3] == ("0000:5a:00.0", "gen 4 x16", "0")
    assert rows["ports"]["mlx5_0"][:4] == ("ACTIVE", "400 Gb/s", "4X NDR", "Ethernet")
    assert (rows["ports"]["mlx5_0"][-1], rows["ports"]["mlx5_bond_0"][-1]) == ("yes", "no: usable, not chosen")
    assert rows["gids"]["mlx5_0"] == ("3", "10.61.0.11", "RoCE v2", "rail0", "IB/RoCE v1 0, 2; RoCE v2 1")
    assert rows["interfaces"]["rail0"] == ("mlx5_0", "up", "9000", "4096", "200 Gb/s", "")
    assert rows["addresses"]["bond0"] == ("10.60.0.11", "0.0.0.0/0 by 10.60.0.1, 10.60.0.0/22")
    assert rows["memlock"]["ssh.service"] == ("8 MiB", "8 MiB")
    assert rows["memlock"]["a new container"] == ("unlimited", "")
    assert rows["isolation"]["kernel command line"] == ("iommu=pt",)
    assert rows["gpudirect"]["GPU 7"] == ("H100 80GB HBM3", "PIX mlx5_9")
    assert rows["environment"]["NCCL_SOCKET_IFNAME==bond0"]
    assert rows["tools"] == {"ibstat": ("/usr/sbin/ibstat",), "rdma": ("/usr/sbin/rdma",)}


def test_counters_that_are_not_0() -> None:
    rows = section(reported(nodes_with(symbol_errors)), "counters").rows
    assert [(name, ports) for name, _words, ports in rows] == [
        ("symbol_error", "mlx5_3 4711"),
        ("link_downed", "mlx5_3 2"),
    ]


def test_counters_of_alike_nodes_are_shown_together() -> None:
    report = reported(nodes_with(as_it_is, symbol_errors, as_it_is))
    counters = {part.key: part for part in report.shown("node0", ["node0", "node1"])}["counters"]
    assert [(name, ports) for name, _words, ports in counters.rows] == [
        ("symbol_error", "node1 mlx5_3 4711"),
        ("link_downed", "node1 mlx5_3 2"),
    ]
    assert {part.key: part for part in report.shown("node0", ["node0"])}["counters"].rows == []


def test_addresses_guids_and_counters_make_no_difference() -> None:
    report = reported(nodes_with(as_it_is, symbol_errors, as_it_is))
    [alike] = report.alike
    assert (alike.nodes, alike.differences) == (("node0", "node1", "node2"), ())
    assert len({section(report, "gids", node).rows[0][2] for node in ("node0", "node1")}) == 2
    assert report.worst(section(report, "counters"), alike.nodes) == {"counters": ("warn", ["node1"])}


def test_the_cell_that_differs_is_named() -> None:
    report = reported(nodes_with(as_it_is, as_it_is, old_firmware))
    assert differences(report) == {"mlx5_0 firmware": ("28.38.1002", "28.39.1002")}
    assert report.worst(section(report, "devices", "node2"), ["node2"]) == {"firmware": ("fail", ["node2"])}


def test_what_is_missing_as_a_whole_is_one_difference() -> None:
    observed = differences(reported(nodes_with(as_it_is, as_it_is, without_an_adapter)))
    assert observed["mlx5_2"] == ("none", "MT4129")
    assert [name for name in observed if name.startswith("mlx5_2 ")] == []
    assert observed["rail2"] == ("none", "mlx5_2")


def test_a_device_node_that_is_closed_is_a_row_of_its_own() -> None:
    report = reported(nodes_with(as_it_is, as_it_is, closed_device))
    rows = section(report, "device_files", "node2").rows
    assert [(row[1], row[3]) for row in rows] == [("0600", "denied"), ("0666", "read and write")]
    assert differences(report) == {"/dev/infiniband/uverbs0 access": ("denied", "read and write")}


def test_a_node_without_adapters_says_so_in_each_section() -> None:
    report = reported([Node.from_facts("node0", facts_of("laptop", 0))])
    absent = {part.key: part.absent for part in report.sections["node0"]}
    assert {key for key, why in absent.items() if why == absent["devices"]} == {
        *("devices", "pci", "ports", "gids", "interfaces", "addresses", "counters", "gpudirect"),
    }
    assert not absent["modules"] and not absent["container"]


def test_a_silent_node_has_no_section() -> None:
    report = reported([*nodes_with(as_it_is), Silent("node9", "no route")])
    assert list(report.sections) == ["node0"]
    assert [(node["answered"], len(node["sections"])) for node in report.to_dict()["nodes"].values()] == [
        (True, len(CHECKS_OF)),
        (False, 0),
    ]
