# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the lint: lists of HCAs and of interfaces, and GIDs that are forced on them."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.tests.support.lint_parts import CLUSTER, ELEVEN, MIXED, check, observations
from ansible_collections.muster.train.tests.support.rdma_parts import gids, hca, port, roce

SLOW = hca("mlx5_11", port(rate=100.0))
PHANTOM = [hca("mlx5_0"), hca("mlx5_8", port(usable=False, reasons=["no usable GID"]))]


@pytest.mark.parametrize(
    ("value", "hcas", "parts"),
    [
        ("=mlx5_0", ELEVEN, []),
        ("=mlx5_0,mlx5_1:1", ELEVEN, []),
        ("^=mlx5_0", ELEVEN, []),
        ("mlx5_2", ELEVEN, []),
        ("mlx5", ELEVEN, []),
        ("", ELEVEN, ["so NCCL takes every ACTIVE port"]),
        ("mlx5_1", ELEVEN, ["mlx5_1 is a prefix and also matches mlx5_10"]),
        ("^mlx5_1", ELEVEN, ["mlx5_1 is a prefix and also matches mlx5_10"]),
        ("=mlx5_0, mlx5_1", ELEVEN, ["does not trim"]),
        ("=^mlx5_1", ELEVEN, ["a device named with ^", "leaves no RDMA device"]),
        ("=mlx5_0,=mlx5_1", ELEVEN, ["^ and = are valid only"]),
        ("=mlx5_99", ELEVEN, ["mlx5_99 names no device here", "leaves no RDMA device"]),
        ("=" + ",".join(["mlx5_0"] * 32 + ["mlx5_1"]), ELEVEN, ["NCCL reads 32 entries, so it ignores mlx5_1"]),
        ("=mlx5_0,mlx5_0:2", ELEVEN, ["mlx5_0:2 names no device here"]),
        ("^mlx5_", ELEVEN, ["leaves no RDMA device"]),
        ("^", ELEVEN, ["excludes every device", "leaves no RDMA device"]),
        ("=mlx5_0,mlx5_2", MIXED, ["mlx5_2 names no active port (mlx5_2 DOWN)"]),
        ("^=mlx5_0", [*ELEVEN, SLOW], ["also takes mlx5_11, which would be left out (mlx5_11: 100 Gb/s)"]),
        ("mlx5", [*ELEVEN, SLOW], ["also takes mlx5_11"]),
        ("", [*ELEVEN, SLOW], ["so NCCL takes every ACTIVE port", "also takes mlx5_11"]),
        ("=mlx5_0,mlx5_11", [*ELEVEN, SLOW], []),
        ("=mlx5_0:1:0:0", ELEVEN, ["NCCL 2.27.3 does not support :rail:plane"]),
        ("mlx5", MIXED, ["ports of Ethernet and InfiniBand (mlx5_0, mlx5_1, mlx5_bond_0), which cannot work together"]),
        ("^=mlx5_2", MIXED, ["which cannot work together"]),
        ("=mlx5_0,mlx5_8", PHANTOM, ["ports that do not work (mlx5_8: no usable GID)"]),
    ],
)
def test_lists_of_hcas(value: str, hcas: list[Hca], parts: list[str]) -> None:
    findings = check(hcas, NCCL_IB_HCA=value)
    assert len(findings) == len(parts)
    for finding, part in zip(findings, parts, strict=True):
        assert part in finding.observed
        assert (finding.status, finding.source, finding.node) == ("warn", CLUSTER, "node0")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("=eth0", []),
        ("eth0", []),
        ("^docker,lo", []),
        ("=eth0, eth1", ["does not trim"]),
        ("=eth1", ["matches eth1, but eth0 leads to the head"]),
        ("eth1", ["eth1 is a prefix and also matches eth10", "matches eth1, eth10, but eth0 leads to the head"]),
        ("eth", ["matches eth0, eth1, eth10; NCCL uses the first that the system lists"]),
        ("=eth0,absent", ["absent names no interface"]),
        ("net1,net2", ["matches no interface that has an address (eth0, eth1, eth10, lo)"]),
        ("e", []),
    ],
)
def test_lists_of_interfaces(value: str, parts: list[str]) -> None:
    findings = check(NCCL_SOCKET_IFNAME=value)
    assert len(findings) == len(parts)
    assert all(part in finding.observed for finding, part in zip(findings, parts, strict=True)), observations(findings)


@pytest.mark.parametrize(
    ("value", "part"), [("=eth0", "named =eth0"), ("eth7", "eth7 is not an interface"), ("eth0", ""), ("eth0,eth1", "")]
)
def test_gloo_knows_plain_names_only(value: str, part: str) -> None:
    assert part in observations(check(GLOO_SOCKET_IFNAME=value))
    assert bool(check(GLOO_SOCKET_IFNAME=value)) is bool(part)


GOOD = [roce("mlx5_0", "10.1.0.5"), roce("mlx5_1", "10.1.0.6")]
UNEVEN = [GOOD[0], roce("mlx5_1", "10.1.0.6", start=4)]


@pytest.mark.parametrize(
    ("hcas", "value", "part"),
    [
        (ELEVEN, "3", "ignored on InfiniBand"),
        (ELEVEN, "-1", ""),
        (GOOD, "3", ""),
        (GOOD, "-1", ""),
        (GOOD, "1", "mlx5_0: RoCE v2 fe80::1, RoCE v2 is 3"),
        (GOOD, "2", "mlx5_0: IB/RoCE v1 10.1.0.5, RoCE v2 is 3"),
        (GOOD, "9", "mlx5_0: empty"),
        (UNEVEN, "3", "(mlx5_1: empty, RoCE v2 is 7)"),
        ([hca("mlx5_0", port(layer="Ethernet", gids=gids("fe80::1", "2001:db8::5")))], "3", ""),
    ],
)
def test_a_forced_gid_index(hcas: list[Hca], value: str, part: str) -> None:
    findings = check(hcas, NCCL_IB_GID_INDEX=value)
    assert [part in finding.observed for finding in findings] == [True] * bool(part), observations(findings)


def test_a_gid_index_is_looked_at_on_the_named_hcas_only() -> None:
    assert check(UNEVEN, NCCL_IB_GID_INDEX="3", NCCL_IB_HCA="=mlx5_0") == []
