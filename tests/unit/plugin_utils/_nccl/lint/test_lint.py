# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the lint: every trap has its finding with where it comes from, and the user's value is never touched."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library
from ansible_collections.muster.train.plugins.plugin_utils._nccl.lint.lint import lint, lint_cluster
from ansible_collections.muster.train.plugins.plugin_utils._nccl.lint.value_rules import integer
from ansible_collections.muster.train.tests.support.lint_parts import (
    CLUSTER,
    ELEVEN,
    MIXED,
    RDMA,
    TCP,
    check,
    observations,
)
from ansible_collections.muster.train.tests.support.rdma_parts import MUST_RDMA, gpu, view


@pytest.mark.parametrize(
    ("text", "number"),
    [("8", 8), ("010", 8), ("0x10", 16), ("-1", -1), ("0", 0), ("08", None), ("8k", None), ("", None), (" 8", 8)],
)
def test_numbers_as_c_reads_them(text: str, number: int | None) -> None:
    assert integer(text) == number


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"NCCL_IB_TIMEOUT": "022"}, "a leading zero makes it octal: 18"),
        ({"NCCL_IB_TIMEOUT": "08"}, "not an octal number"),
        ({"NCCL_IB_TIMEOUT": "22s"}, "not a whole number"),
        ({"NCCL_IB_TIMEOUT": "22"}, ""),
        ({"NCCL_IB_TIMEOUT": "40"}, "40 is out of range: the adapter has 5 bits"),
        ({"NCCL_CROSS_NIC": "7"}, "7 is out of range"),
        ({"NCCL_CROSS_NIC": "0"}, ""),
        ({"NCCL_IB_SL": "-1"}, ""),
        ({"NCCL_IB_ADDR_RANGE": "junk"}, "not a network, so NCCL ignores it"),
        ({"NCCL_IB_ADDR_RANGE": "10.2.0.0"}, "not a network, so NCCL ignores it"),
        ({"NCCL_IB_ADDR_RANGE": "10.2.0.7/16"}, ""),
        ({"NCCL_IB_ADDR_FAMILY": "IPv6"}, "NCCL takes AF_INET"),
        ({"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, ""),
        ({"NCCL_IB_DISABLE": "0"}, "0 is the default"),
        ({"NCCL_ALGO": "Rign"}, "the library does not know 'Rign'"),
        ({"NCCL_ALGO": "tree,Ring"}, ""),
        ({"NCCL_ALGO": "^tree"}, ""),
        ({"NCCL_ALGO": "allreduce:tree,ring;broadcast:ring"}, ""),
        ({"NCCL_PROTO": "LL128,simpel"}, "does not know 'simpel'"),
        ({"NCCL_NTHREADS": "192"}, "changes this number"),
        ({"NCCL_NTHREADS": "256"}, ""),
        ({"NCCL_MAX_NCHANNELS": "100"}, "changes this number"),
        ({"NCCL_MAX_CTAS": "64"}, ""),
        ({"nccl_ib_hca": "x"}, "no library reads this one; did you mean NCCL_IB_HCA?"),
        ({"NCCL_NET_GDR_LEVEL": "5"}, "the number means SYS; it is a distance"),
        ({"NCCL_NET_GDR_LEVEL": "2"}, "the number means PXB"),
        ({"NCCL_NET_GDR_LEVEL": "phb"}, "does not know it"),
        ({"NCCL_P2P_LEVEL": "NVL"}, "disables P2P over PCIe"),
        ({"NCCL_P2P_LEVEL": "XGMI"}, "NCCL uses NVL"),
        ({"NCCL_DEBUG": "TRACE"}, "needs a library built for it"),
        ({"NCCL_DEBUG": "LOUD"}, "not a level"),
        ({"NCCL_DEBUG": "warn"}, ""),
        ({"NCCL_NCHANNELS": "8"}, "did you mean"),
        ({"NCCL_IB_HCAS": "=mlx5_0"}, "did you mean NCCL_IB_HCA?"),
        ({"RCCL_THREADS_PER_BLOCK": "256"}, "only RCCL reads it"),
    ],
)
def test_values(values: dict[str, str], part: str) -> None:
    findings = [finding for finding in check(ELEVEN, **values) if not finding.observed.startswith("set for every run")]
    assert [part in finding.observed for finding in findings] == [True] * bool(part), observations(findings)
    assert all(str(finding.remedy).endswith("it is used as set") for finding in findings)


@pytest.mark.parametrize(
    ("name", "value", "bad"),
    [
        ("NCCL_NTHREADS", "320", True),
        ("NCCL_NTHREADS", "192", False),
        ("NCCL_MAX_NCHANNELS", "200", True),
        ("NCCL_MAX_NCHANNELS", "100", False),
    ],
)
@pytest.mark.parametrize("gpus", [0, 8])
def test_ranges_of_rccl_and_of_a_node_that_may_run_either(name: str, value: str, bad: bool, gpus: int) -> None:
    node = view(hcas=[], gpu=gpu(gpus), library=Library("rccl" if gpus else "nccl", None))
    findings = lint(node, [Variable(name, value, "-e env", "", layer="extra_vars")], TCP)
    assert ["changes this number" in finding.observed for finding in findings] == [True] * bad


@pytest.mark.parametrize("value", ["PHB", "SYS"])
def test_a_distance_as_a_word_is_valid(value: str) -> None:
    [finding] = check(ELEVEN, NCCL_NET_GDR_LEVEL=value)
    assert finding.observed == f"set for every run: NCCL_NET_GDR_LEVEL={value}"


def test_rccl_does_not_know_the_word_nvl() -> None:
    amd = view(hcas=[], library=Library("rccl", (2, 21, 5)))
    findings = lint(amd, [Variable("NCCL_P2P_LEVEL", "NVL", "-e env", "", layer="extra_vars")], TCP)
    assert "RCCL does not know it and silently takes its default; RCCL uses XGMI" in observations(findings)


@pytest.mark.parametrize(
    ("least", "most"),
    [
        ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
        ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
        ("NCCL_MIN_NCHANNELS", "NCCL_MAX_CTAS"),
        ("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
    ],
)
def test_more_at_least_than_at_most_stops(least: str, most: str) -> None:
    def stops(low: str, high: str) -> list[Finding]:
        return [finding for finding in check(ELEVEN, **{least: low, most: high}) if finding.stops]

    [finding] = stops("16", "8")
    assert f"{least}=16 ({CLUSTER}) is more than {most}=8 ({CLUSTER})" in finding.observed
    assert finding.source == CLUSTER
    assert stops("8", "8") == stops("8", "16") == stops("9", "10") == stops("many", "2") == stops("8", "") == []


@pytest.mark.parametrize("value", ["1", "0x1"])
def test_rdma_disabled_on_an_rdma_cluster(value: str) -> None:
    environment = [Variable("NCCL_IB_DISABLE", value, CLUSTER, "")]
    node = view(hcas=ELEVEN)
    assert [finding.status for finding in lint(node, environment, RDMA)] == ["warn"]
    assert [finding.status for finding in lint(node, environment, RDMA, MUST_RDMA)] == ["fail"]
    assert lint(node, environment, TCP) == []


@pytest.mark.parametrize("value", ["0", "", "0x0"])
def test_rdma_not_disabled_on_a_tcp_cluster(value: str) -> None:
    environment = [Variable("NCCL_IB_DISABLE", value, CLUSTER, "")]
    [finding] = lint(view(hcas=ELEVEN), environment, TCP)
    assert "although the fabric is tcp" in finding.observed
    assert "where tcp" not in observations(lint(view(hcas=ELEVEN), environment, RDMA, MUST_RDMA))


@pytest.mark.parametrize("value", ["^mlx5_", "=mlx5_99"])
def test_a_list_that_excludes_every_device_means_no_rdma(value: str) -> None:
    environment = [Variable("NCCL_IB_HCA", value, CLUSTER, "")]
    findings = lint(view(hcas=ELEVEN), environment, RDMA, MUST_RDMA)
    assert [finding.status for finding in findings if finding.stops] == ["fail"]


def test_debugging_that_the_inventory_keeps_is_named_once_per_node() -> None:
    environment = [
        Variable("NCCL_ALGO", "Ring", CLUSTER, ""),
        Variable("NCCL_PROTO", "Simple", CLUSTER, ""),
        Variable("NCCL_BUFFSIZE", "1024", "-e env", "", layer="extra_vars"),
        Variable("NCCL_NTHREADS", "256", "cluster (launch_defaults)", "", "D6"),
    ]
    [finding] = lint(view(hcas=ELEVEN), environment, RDMA)
    assert finding.observed == "set for every run: NCCL_ALGO=Ring, NCCL_PROTO=Simple"


@pytest.mark.parametrize(("virtual", "findings"), [(True, 0), (False, 1), (None, 1)])
def test_relaxed_ordering_is_no_debugging_on_a_vm(virtual: bool | None, findings: int) -> None:
    """Azure documents it for its VMs, and sets it in their nccl.conf."""
    environment = [Variable("NCCL_IB_PCI_RELAXED_ORDERING", "1", "/etc/nccl.conf", "", layer="nccl.conf")]
    node = view(hcas=ELEVEN, gpu=dataclasses.replace(gpu(), virtual=virtual))
    assert len(lint(node, environment, RDMA)) == findings


def cluster(*values: str | None, name: str = "NCCL_ALGO", rule: str = "") -> list[Finding]:
    return lint_cluster(
        {
            f"node{number}": [] if value is None else [Variable(name, value, f"node {number}", "", rule)]
            for number, value in enumerate(values)
        }
    )


def test_nodes_that_must_do_the_same() -> None:
    assert cluster("Ring", "Ring") == cluster(None, None) == []
    assert [(finding.node, finding.status) for finding in cluster("Ring", "Tree", None)] == [
        ("node1", "warn"),
        ("node2", "warn"),
    ]
    assert cluster("a", "b", name="NCCL_IB_HCA") == []
    assert cluster("1", "2", name="NCCL_NTHREADS", rule="D6") == []


@pytest.mark.parametrize("value", ["", "^", "=", ",", " ", "é", "x" * 5000, "0x", "-", "=^,=^:::", "9" * 400])
@pytest.mark.parametrize(
    "name",
    ["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_P2P_LEVEL", "NCCL_MIN_CTAS"],
)
@pytest.mark.parametrize("known", [True, False])
def test_nothing_makes_it_raise(name: str, value: str, known: bool) -> None:
    changes: dict[str, Any] = {} if known else {"net": None, "gpu": None}
    node = view(hcas=MIXED if known else None, **changes)
    assert isinstance(lint(node, [Variable(name, value, CLUSTER, "")], RDMA, MUST_RDMA), list)


@pytest.mark.parametrize(
    ("name", "part"),
    [("NCCL_NOBODY_KNOWS", "no version of NCCL reads it"), ("NCCL_IB_ADDR_RANGE", ""), ("RCCL_TREES", "")],
)
def test_names_are_looked_at_on_nodes_without_gpus_too_where_either_library_may_be_meant(name: str, part: str) -> None:
    node = view(hcas=[], gpu=gpu(0))
    findings = lint(node, [Variable(name, "1.0.0.0/8", CLUSTER, "")], TCP)
    assert [part in finding.observed for finding in findings] == [True] * bool(part)
