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
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, MUST_TCP, gpu, hca, view


def node(
    name: str, library: Literal["nccl", "rccl"] = "nccl", version: tuple[int, ...] | None = (2, 27, 3), gpus: int = 8
) -> NodeView:
    return view(name, [hca("mlx5_0")], library=Library(library, version), gpu=gpu(gpus))


def findings_of(*nodes: NodeView, policy: FabricPolicy = AUTO) -> list[Finding]:
    return resolve(nodes, policy).findings


def releases(*versions: tuple[int, ...] | None) -> list[Finding]:
    """What is found where two nodes have the newest release, and the others these."""
    return findings_of(node("a"), node("z"), *(node(f"b{n}", version=version) for n, version in enumerate(versions)))


BOTH = [node("a"), node("b", "rccl"), node("c")]
CASES = [
    Case("NCCL and RCCL over TCP", lambda: findings_of(*BOTH, policy=MUST_TCP), [("environment", "b", "fail")]),
    Case("NCCL and RCCL over RDMA", lambda: findings_of(*BOTH), [("environment", "b", "fail")]),
    Case("an older release", lambda: releases((2, 26, 2)), [("environment", "b0", "warn")]),
    Case("a newer release", lambda: releases((3, 27)), [("environment", "b0", "warn")]),
    Case(
        "two older releases",
        lambda: releases((2, 26, 2), (2, 25, 1)),
        [("environment", f"b{n}", "warn") for n in (0, 1)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_libraries_that_may_not_meet_are_found(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_a_patch_release_does_not_differ() -> None:
    assert releases((2, 27, 3)) == releases((2, 27, 7)) == releases(None) == []


def test_nodes_without_gpus_have_no_ranks_of_either() -> None:
    assert findings_of(node("a"), node("b", "rccl", gpus=0), node("c", version=(2, 20), gpus=0)) == []
    assert findings_of() == findings_of(node("a")) == []
