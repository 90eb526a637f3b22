# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the lint: lists of HCAs and of interfaces, and GIDs that are forced on them."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.lint_parts import CLUSTER, ELEVEN, MIXED, check
from ansible_collections.muster.train.tests.support.rdma_parts import gids, hca, port, roce

SLOW = hca("mlx5_11", port(rate=100.0))
PHANTOM = [hca("mlx5_0"), hca("mlx5_8", port(usable=False, reasons=["no usable GID"]))]


HCA_LISTS: list[tuple[str, list[Hca], int]] = [
    ("=mlx5_0", ELEVEN, 0),
    ("=mlx5_0,mlx5_1:1", ELEVEN, 0),
    ("^=mlx5_0", ELEVEN, 0),
    ("mlx5_2", ELEVEN, 0),
    ("mlx5", ELEVEN, 0),
    ("", ELEVEN, 1),
    ("mlx5_1", ELEVEN, 1),
    ("^mlx5_1", ELEVEN, 1),
    ("=mlx5_0, mlx5_1", ELEVEN, 1),
    ("=^mlx5_1", ELEVEN, 2),
    ("=mlx5_0,=mlx5_1", ELEVEN, 1),
    ("=mlx5_99", ELEVEN, 2),
    ("=" + ",".join(["mlx5_0"] * 32 + ["mlx5_1"]), ELEVEN, 1),
    ("=mlx5_0,mlx5_0:2", ELEVEN, 1),
    ("^mlx5_", ELEVEN, 1),
    ("^", ELEVEN, 2),
    ("=mlx5_0,mlx5_2", MIXED, 1),
    ("^=mlx5_0", [*ELEVEN, SLOW], 1),
    ("mlx5", [*ELEVEN, SLOW], 1),
    ("", [*ELEVEN, SLOW], 2),
    ("=mlx5_0,mlx5_11", [*ELEVEN, SLOW], 0),
    ("=mlx5_0:1:0:0", ELEVEN, 1),
    ("mlx5", MIXED, 1),
    ("^=mlx5_2", MIXED, 1),
    ("=mlx5_0,mlx5_8", PHANTOM, 1),
]


@pytest.mark.parametrize(("value", "hcas", "count"), HCA_LISTS)
def test_lists_of_hcas(value: str, hcas: list[Hca], count: int) -> None:
    findings = check(hcas, NCCL_IB_HCA=value)
    assert outcomes(findings) == [("environment", "node0", "warn")] * count
    assert {finding.source for finding in findings} <= {CLUSTER}


INTERFACE_LISTS = {
    "=eth0": 0,
    "eth0": 0,
    "^docker,lo": 0,
    "=eth0, eth1": 1,
    "=eth1": 1,
    "eth1": 2,
    "eth": 1,
    "=eth0,absent": 1,
    "net1,net2": 1,
    "e": 0,
}
GLOO_LISTS = {"=eth0": 1, "eth7": 1, "eth0": 0, "eth0,eth1": 0}


@pytest.mark.parametrize(("value", "count"), INTERFACE_LISTS.items())
def test_lists_of_interfaces(value: str, count: int) -> None:
    assert len(check(NCCL_SOCKET_IFNAME=value)) == count


@pytest.mark.parametrize(("value", "count"), GLOO_LISTS.items())
def test_gloo_knows_plain_names_only(value: str, count: int) -> None:
    assert len(check(GLOO_SOCKET_IFNAME=value)) == count


GOOD = [roce("mlx5_0", "10.1.0.5"), roce("mlx5_1", "10.1.0.6")]
UNEVEN = [GOOD[0], roce("mlx5_1", "10.1.0.6", start=4)]


GID_INDEXES: list[tuple[list[Hca], str, int]] = [
    (ELEVEN, "3", 1),
    (ELEVEN, "-1", 0),
    (GOOD, "3", 0),
    (GOOD, "-1", 0),
    (GOOD, "1", 1),
    (GOOD, "2", 1),
    (GOOD, "9", 1),
    (UNEVEN, "3", 1),
    ([hca("mlx5_0", port(layer="Ethernet", gids=gids("fe80::1", "2001:db8::5")))], "3", 0),
]


@pytest.mark.parametrize(("hcas", "value", "count"), GID_INDEXES)
def test_a_forced_gid_index(hcas: list[Hca], value: str, count: int) -> None:
    assert len(check(hcas, NCCL_IB_GID_INDEX=value)) == count


def test_a_gid_index_is_looked_at_on_the_named_hcas_only() -> None:
    assert check(UNEVEN, NCCL_IB_GID_INDEX="3", NCCL_IB_HCA="=mlx5_0") == []
