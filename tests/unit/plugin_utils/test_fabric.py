# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the fabric: auto chooses and says why, rdma never falls back."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._fabric import Fabric, decide
from ansible_collections.muster.train.plugins.plugin_utils._findings import line

ALL = {"a": ["mlx5_0"], "b": ["mlx5_0", "mlx5_1"]}
NONE: dict[str, list[str]] = {"a": [], "b": []}
SOME: dict[str, list[str]] = {"a": ["mlx5_0"], "b": [], "c": []}


@pytest.mark.parametrize(
    ("mode", "hcas", "fabric"),
    [
        ("auto", ALL, Fabric("rdma", "every node has RDMA devices")),
        ("auto", NONE, Fabric("tcp", "no node has RDMA devices")),
        ("rdma", ALL, Fabric("rdma", "mode=rdma (-e mode)")),
        ("tcp", ALL, Fabric("tcp", "mode=tcp (-e mode)")),
        ("tcp", SOME, Fabric("tcp", "mode=tcp (-e mode)")),
        ("tcp", NONE, Fabric("tcp", "mode=tcp (-e mode)")),
    ],
)
def test_decided(mode: str, hcas: dict[str, list[str]], fabric: Fabric) -> None:
    assert decide(mode, "-e mode", hcas) == (fabric, [])


@pytest.mark.parametrize(("hcas", "without"), [(SOME, ["b", "c"]), (NONE, ["a", "b"])])
def test_rdma_never_falls_back(hcas: dict[str, list[str]], without: list[str]) -> None:
    fabric, findings = decide("rdma", "cluster (launch_defaults)", hcas)
    assert fabric.value == "rdma"
    assert [(finding.node, finding.status) for finding in findings] == [(node, "fail") for node in without]
    assert "no RDMA device" in line(findings[0])
    assert "(cluster (launch_defaults))" in line(findings[0])
    assert "-e mode=tcp" in line(findings[0])


def test_auto_with_rdma_on_some_nodes_is_tcp_with_a_warning() -> None:
    fabric, findings = decide("auto", "default", SOME)
    assert fabric == Fabric("tcp", "no RDMA devices on b and c")
    assert [(finding.node, finding.status) for finding in findings] == [("b", "warn"), ("c", "warn")]
    assert "-e mode=tcp" in findings[0].remedy
