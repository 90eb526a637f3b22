# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that nodes whose ranks load libraries that cannot meet are found, whatever the fabric."""

from __future__ import annotations

from typing import Literal

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import (
    FabricPolicy,
    Library,
    NodeView,
    resolve,
)
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, MUST_TCP, gpu, hca, view


def node(
    name: str, library: Literal["nccl", "rccl"] = "nccl", version: tuple[int, ...] | None = (2, 27, 3), gpus: int = 8
) -> NodeView:
    return view(name, [hca("mlx5_0")], library=Library(library, version), gpu=gpu(gpus))


def findings_of(*nodes: NodeView, policy: FabricPolicy = AUTO) -> list[Finding]:
    return resolve(nodes, policy).findings


@pytest.mark.parametrize("policy", [AUTO, MUST_TCP])
def test_nccl_and_rccl_cannot_meet(policy: FabricPolicy) -> None:
    [finding] = findings_of(node("a"), node("b", "rccl"), node("c"), policy=policy)
    assert (finding.node, finding.status, finding.check) == ("b", "fail", "environment")
    assert "RCCL" in finding.observed
    assert finding.expected == "NCCL, as on a and c"


@pytest.mark.parametrize(
    ("others", "status"),
    [
        ([(2, 27, 3)], []),
        ([(2, 27, 7)], []),
        ([None], []),
        ([(2, 26, 2)], ["warn"]),
        ([(3, 27)], ["warn"]),
        ([(2, 26, 2), (2, 25, 1)], ["warn", "warn"]),
    ],
)
def test_two_releases_are_a_warning(others: list[tuple[int, ...] | None], status: list[str]) -> None:
    nodes = [node("a"), node("z"), *(node(f"b{number}", version=version) for number, version in enumerate(others))]
    findings = findings_of(*nodes)
    assert [finding.status for finding in findings] == status
    assert all(finding.expected.startswith("NCCL 2.27.3, as on a and z") for finding in findings)


def test_nodes_without_gpus_have_no_ranks_of_either() -> None:
    assert findings_of(node("a"), node("b", "rccl", gpus=0), node("c", version=(2, 20), gpus=0)) == []
    assert findings_of() == findings_of(node("a")) == []
