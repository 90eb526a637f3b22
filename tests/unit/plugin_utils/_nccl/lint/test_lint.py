# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the lint: every trap has its finding with where it comes from, and the user's value is never touched."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.nccl_values import integer
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library
from ansible_collections.muster.train.plugins.plugin_utils._nccl.lint.lint import lint, lint_cluster
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.lint_parts import (
    CLUSTER,
    ELEVEN,
    MIXED,
    RDMA,
    TCP,
    check,
)
from ansible_collections.muster.train.tests.support.rdma_parts import MUST_RDMA, gpu, view

WARNED = [("environment", "node0", "warn")]
REFUSED = [("environment", "node0", "fail")]
DISABLING = ["0", "", "0x0"]
PAIRS = [
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
    ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_CTAS"),
    ("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
]


@pytest.mark.parametrize(
    ("text", "number"),
    [("8", 8), ("010", 8), ("0x10", 16), ("-1", -1), ("0", 0), ("08", None), ("8k", None), ("", None), (" 8", 8)],
)
def test_numbers_as_c_reads_them(text: str, number: int | None) -> None:
    assert integer(text) == number


# What is set, and how many findings there are of it; some are only that it is set for every run.
VALUES: list[tuple[dict[str, str], int]] = [
    ({"NCCL_IB_TIMEOUT": "022"}, 1),
    ({"NCCL_IB_TIMEOUT": "08"}, 1),
    ({"NCCL_IB_TIMEOUT": "22s"}, 1),
    ({"NCCL_IB_TIMEOUT": "22"}, 0),
    ({"NCCL_IB_TIMEOUT": "40"}, 1),
    ({"NCCL_CROSS_NIC": "7"}, 1),
    ({"NCCL_CROSS_NIC": "0"}, 0),
    ({"NCCL_IB_SL": "-1"}, 0),
    ({"NCCL_IB_ADDR_RANGE": "junk"}, 1),
    ({"NCCL_IB_ADDR_RANGE": "10.2.0.0"}, 1),
    ({"NCCL_IB_ADDR_RANGE": "10.2.0.7/16"}, 0),
    ({"NCCL_IB_ADDR_FAMILY": "IPv6"}, 1),
    ({"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, 0),
    ({"NCCL_IB_DISABLE": "0"}, 1),
    ({"NCCL_ALGO": "Rign"}, 2),
    ({"NCCL_ALGO": "tree,Ring"}, 1),
    ({"NCCL_ALGO": "^tree"}, 1),
    ({"NCCL_ALGO": "allreduce:tree,ring;broadcast:ring"}, 1),
    ({"NCCL_PROTO": "LL128,simpel"}, 2),
    ({"NCCL_NTHREADS": "192"}, 2),
    ({"NCCL_NTHREADS": "256"}, 1),
    ({"NCCL_MAX_NCHANNELS": "100"}, 2),
    ({"NCCL_MAX_CTAS": "64"}, 0),
    ({"nccl_ib_hca": "x"}, 1),
    ({"NCCL_NET_GDR_LEVEL": "5"}, 2),
    ({"NCCL_NET_GDR_LEVEL": "2"}, 2),
    ({"NCCL_NET_GDR_LEVEL": "phb"}, 2),
    ({"NCCL_P2P_LEVEL": "NVL"}, 2),
    ({"NCCL_P2P_LEVEL": "XGMI"}, 2),
    ({"NCCL_DEBUG": "TRACE"}, 1),
    ({"NCCL_DEBUG": "LOUD"}, 1),
    ({"NCCL_DEBUG": "warn"}, 0),
    ({"NCCL_NCHANNELS": "8"}, 1),
    ({"NCCL_IB_HCAS": "=mlx5_0"}, 1),
    ({"RCCL_THREADS_PER_BLOCK": "256"}, 1),
]


@pytest.mark.parametrize(("values", "count"), VALUES)
def test_values(values: dict[str, str], count: int) -> None:
    findings = check(ELEVEN, **values)
    assert outcomes(findings) == [("environment", "node0", "warn")] * count
    assert {finding.source for finding in findings} <= {CLUSTER}


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
    assert len(findings) == bad


def nvl_on_rccl() -> list[Finding]:
    """What is found of a word that only NCCL knows, where the library is RCCL."""
    amd = view(hcas=[], library=Library("rccl", (2, 21, 5)))
    return lint(amd, [Variable("NCCL_P2P_LEVEL", "NVL", "-e env", "", layer="extra_vars")], TCP)


def kept_debugging() -> list[Finding]:
    """What is found of debugging that the inventory keeps, beside what is set for one run or by a parameter."""
    environment = [
        Variable("NCCL_ALGO", "Ring", CLUSTER, ""),
        Variable("NCCL_PROTO", "Simple", CLUSTER, ""),
        Variable("NCCL_BUFFSIZE", "1024", "-e env", "", layer="extra_vars"),
        Variable("NCCL_NTHREADS", "256", "cluster (launch_defaults)", "", "D6"),
    ]
    return lint(view(hcas=ELEVEN), environment, RDMA)


def not_disabled(value: str) -> list[Finding]:
    """What is found of RDMA that is not disabled where the fabric is TCP."""
    return lint(view(hcas=ELEVEN), [Variable("NCCL_IB_DISABLE", value, CLUSTER, "")], TCP)


def known_by_none() -> list[Finding]:
    return lint(view(hcas=[], gpu=gpu(0)), [Variable("NCCL_NOBODY_KNOWS", "1.0.0.0/8", CLUSTER, "")], TCP)


CASES = [
    Case("a distance as a word", lambda: check(ELEVEN, NCCL_NET_GDR_LEVEL="PHB"), WARNED),
    Case("a word that RCCL does not know", nvl_on_rccl, WARNED),
    Case("debugging that the inventory keeps is named once", kept_debugging, WARNED),
    *(Case(f"RDMA not disabled by {value!r}", functools.partial(not_disabled, value), WARNED) for value in DISABLING),
    Case("a name that no library knows", known_by_none, WARNED),
    *(
        Case(
            f"{least} is more than {most}",
            functools.partial(check, ELEVEN, **{least: "16", most: "8"}),
            # The number of channels is for debugging, too.
            REFUSED + WARNED * (least == "NCCL_MIN_NCHANNELS"),
        )
        for least, most in PAIRS
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_found(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(("least", "most"), PAIRS)
def test_more_at_least_than_at_most_stops(least: str, most: str) -> None:
    def stops(low: str, high: str) -> list[Finding]:
        return [finding for finding in check(ELEVEN, **{least: low, most: high}) if finding.stops]

    [finding] = stops("16", "8")
    assert finding.source == CLUSTER
    assert stops("8", "8") == stops("8", "16") == stops("9", "10") == stops("many", "2") == stops("8", "") == []


@pytest.mark.parametrize("value", ["1", "0x1"])
def test_rdma_disabled_on_an_rdma_cluster(value: str) -> None:
    environment = [Variable("NCCL_IB_DISABLE", value, CLUSTER, "")]
    node = view(hcas=ELEVEN)
    assert [finding.status for finding in lint(node, environment, RDMA)] == ["warn"]
    assert [finding.status for finding in lint(node, environment, RDMA, MUST_RDMA)] == ["fail"]
    assert lint(node, environment, TCP) == []


@pytest.mark.parametrize("value", DISABLING)
def test_rdma_not_disabled_where_rdma_is_asked_for(value: str) -> None:
    findings = lint(view(hcas=ELEVEN), [Variable("NCCL_IB_DISABLE", value, CLUSTER, "")], RDMA, MUST_RDMA)
    assert not [finding for finding in findings if finding.stops]


@pytest.mark.parametrize("value", ["^mlx5_", "=mlx5_99"])
def test_a_list_that_excludes_every_device_means_no_rdma(value: str) -> None:
    environment = [Variable("NCCL_IB_HCA", value, CLUSTER, "")]
    findings = lint(view(hcas=ELEVEN), environment, RDMA, MUST_RDMA)
    assert [finding.status for finding in findings if finding.stops] == ["fail"]


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


@pytest.mark.parametrize("name", ["NCCL_IB_ADDR_RANGE", "RCCL_TREES"])
def test_a_node_without_gpus_may_mean_either_library(name: str) -> None:
    assert lint(view(hcas=[], gpu=gpu(0)), [Variable(name, "1.0.0.0/8", CLUSTER, "")], TCP) == []
