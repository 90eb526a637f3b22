# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected: facts of all nodes, the environment that follows, and who did not answer."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import NodeAnswer, Silent
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import ClusterReport, DetectedNode
from ansible_collections.muster.train.plugins.plugin_utils._detect.groups import features
from ansible_collections.muster.train.plugins.plugin_utils._detect.rows import port_rows
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import (
    LAUNCH_ENV,
    LAUNCH_NODE_ENV,
    Layer,
    Origin,
)
from ansible_collections.muster.train.tests.support.detect_parts import (
    answer,
    cluster,
    detected,
    dgx_h100,
    laptop,
    mi300x,
)


def variables(node: DetectedNode) -> dict[str, tuple[str, str]]:
    return {variable.name: (variable.value, variable.origin) for variable in node.environment}


def test_every_node_gets_its_own_environment() -> None:
    report = cluster(dgx_h100(), dgx_h100(), version="2.23.4")
    assert report.fabric is not None and report.fabric.value == "rdma"
    for node in report.nodes:
        assert node.interface is not None and node.interface.name == "eth0"
        assert variables(node)["NCCL_SOCKET_IFNAME"] == ("=eth0", "fabric")
        assert len(node.hcas) == 8
        assert all(variable.rule for variable in node.environment)
        assert node.not_set and not {item.name for item in node.not_set} & set(variables(node))
    assert [finding for finding in report.all_findings if finding.stops] == []


def test_nothing_to_detect() -> None:
    report = cluster(laptop(), laptop())
    assert report.fabric is not None and report.fabric.value == "tcp"
    assert [node.hcas for node in report.nodes] == [[], []]
    assert [finding.to_dict() for finding in report.all_findings if finding.stops] == []


def test_a_users_value_wins_and_has_its_origin() -> None:
    answers: list[NodeAnswer] = [
        dataclasses.replace(answer("node0", dgx_h100()), layers=[({"NCCL_SOCKET_IFNAME": "eth9"}, LAUNCH_NODE_ENV)]),
        answer("node1", dgx_h100(), 1),
    ]
    report = detected(answers, layers=[({"NCCL_SOCKET_IFNAME": "eth8", "MINE": "1"}, LAUNCH_ENV)])
    assert variables(report.nodes[0])["NCCL_SOCKET_IFNAME"] == ("eth9", "node (launch_node_env)")
    assert variables(report.nodes[1])["NCCL_SOCKET_IFNAME"] == ("eth8", "cluster (launch_env)")
    assert variables(report.nodes[1])["MINE"] == ("1", "cluster (launch_env)")
    assert any("eth9" in finding.observed for finding in report.nodes[0].findings), "the lint looked at it"


def test_the_gid_that_a_users_network_chooses_is_shown() -> None:
    machine = mi300x()
    for number, device in enumerate(machine["rdma"]["hcas"]):
        [first] = device["ports"][0]["gids"]
        second = {**first, "index": 5, "gid": f"0000:0000:0000:0000:0000:ffff:0a07:{number:04x}"}
        device["ports"][0]["gids"].append({**second, "address": f"10.7.0.{number}"})
    answers: list[NodeAnswer] = [answer("node0", machine), answer("node1", machine, 1)]
    report = detected(answers, layers=[({"NCCL_IB_ADDR_RANGE": "10.7.0.0/16"}, LAUNCH_ENV)], version="2.23.4")
    for node in report.nodes:
        assert node.to_dict()["gids"] == {f"bnxt_re{number}": 5 for number in range(8)}
        assert [row[6] for row in port_rows(node)] == [f"5: 10.7.0.{number}" for number in range(8)]
        assert "RoCE v2 GID 5" in features(node)["bnxt_re0 port 1"]
    [plain] = detected([answer("node0", machine)], version="2.23.4").nodes
    assert port_rows(plain)[0][6] == "3: 192.168.0.11"


def test_what_cannot_be_a_variable_is_a_finding() -> None:
    report = detected([answer("node0", laptop())], layers=[({"no name": "1", "RANK": "0"}, LAUNCH_ENV)])
    assert [finding.status for finding in report.findings] == ["fail", "fail"]


def test_requested_rdma_that_is_missing() -> None:
    report = cluster(dgx_h100(), laptop(), mode="rdma", mode_origin=Origin(Layer.EXTRA_VARS, "-e mode"))
    failed = [finding for finding in report.all_findings if finding.status == "fail"]
    assert [(finding.node, finding.source) for finding in failed] == [("node1", "-e mode")]
    assert report.nodes[1].findings == failed


def test_a_node_that_did_not_answer_is_an_error_and_the_others_are_reported() -> None:
    report = detected([answer("node0", dgx_h100()), Silent("node1", "no route to host")])
    assert [node.answered for node in report.nodes] == [True, False]
    (finding,) = [finding for finding in report.all_findings if finding.status == "error"]
    assert (finding.node, finding.observed) == ("node1", "no route to host")
    assert "NCCL_SOCKET_IFNAME" in variables(report.nodes[0])


def test_no_node_answered() -> None:
    report = detected([Silent("node0", "no route"), Silent("node1", "no route")], mode="rdma")
    assert report.fabric is None
    assert [finding.node for finding in report.all_findings] == ["node0", "node1"]
    assert detected([]) == ClusterReport([], None, "auto", [])


def test_facts_that_are_not_known() -> None:
    """A reader that crashed or hung leaves null."""
    facts = {"rdma": None, "gpu": None}
    report = detected([answer("node0", facts, 0, net=None)])
    assert (report.nodes[0].rdma, report.nodes[0].gpu, report.nodes[0].interface) == (None, None, None)
    assert report.nodes[0].answered


def test_the_head_that_is_silent_costs_the_interface_only() -> None:
    report = detected([Silent("node0", "no route"), answer("node1", dgx_h100(), 1)])
    assert report.nodes[1].interface is None
    assert "NCCL_SOCKET_IFNAME" not in variables(report.nodes[1])
    answers: list[NodeAnswer] = [Silent("node0", "no route"), answer("node1", dgx_h100(), 1)]
    assert variables(detected(answers, head_address="10.0.0.1").nodes[1])["NCCL_SOCKET_IFNAME"][0] == "=eth0"


def test_the_library_is_the_facts_or_the_policys() -> None:
    def library(**policy: Any) -> tuple[str, tuple[int, ...] | None]:
        versions = {"nccl": "2.21.5", "sources": {"nccl": "/v"}}
        resolved = detected([answer("node0", dgx_h100(), 0, versions=versions)], **policy).nodes[0].library
        assert resolved is not None
        return resolved.name, resolved.version

    assert library() == ("nccl", (2, 21, 5))
    assert library(version="2.27.3") == ("nccl", (2, 27, 3))
    assert library(library="nccl") == ("nccl", (2, 21, 5))
    assert library(library="rccl") == ("rccl", None)


def test_it_is_plain_data() -> None:
    document = json.loads(json.dumps(cluster(dgx_h100(), mi300x(), laptop()).to_dict()))
    assert list(document["nodes"]) == ["node0", "node1", "node2"]
    node = document["nodes"]["node0"]
    assert node["facts"]["rdma"] == Rdma.from_dict(dgx_h100()["rdma"]).to_dict()
    assert node["facts"]["gpu"] == dgx_h100()["gpu"]
    assert {"name", "value", "origin", "layer", "reason", "rule"} == set(node["environment"][0])
