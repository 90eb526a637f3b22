# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of NCCL's variables as the library reads them, and which of them it did not read as planned."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import RankLog
from ansible_collections.muster.train.plugins.module_utils._records.nccl_values import PLUGIN, are_alike, compare
from ansible_collections.muster.train.plugins.module_utils._records.transport import ReadVariable

HCA, LEVEL, ALGO, CHANNELS = "NCCL_IB_HCA", "NCCL_NET_GDR_LEVEL", "NCCL_ALGO", "NCCL_MIN_NCHANNELS"


@pytest.mark.parametrize(
    ("name", "one", "other", "wanted"),
    [
        (CHANNELS, "16", "16", True),
        (CHANNELS, "0x10", "16", True),
        (CHANNELS, "010", "8", True),
        (CHANNELS, "010", "10", False),
        (CHANNELS, "1", "garbage", False),
        (CHANNELS, "garbage", "1", False),
        (CHANNELS, "1", "", False),
        (HCA, "=mlx5_0,mlx5_1", "=mlx5_1,mlx5_0", True),
        (HCA, "=mlx5_0", "mlx5_0", False),
        (HCA, "^mlx5_0", "mlx5_0", False),
        (HCA, "^=mlx5_0,mlx5_1", "^=mlx5_1,mlx5_0,", True),
        (HCA, "=mlx5_0", "=MLX5_0", False),
        (ALGO, "Ring", "RING", True),
        (ALGO, "ring,tree", "tree,ring", False),
        (LEVEL, "5", "SYS", True),
        (LEVEL, "2", "PXB", True),
        (LEVEL, "2", "PHB", False),
        (LEVEL, "PHB", "phb", False),
        ("NCCL_TOPO_FILE", "/a", "/A", False),
    ],
)
def test_values_that_mean_the_same(name: str, one: str, other: str, wanted: bool) -> None:
    assert [are_alike(name, *pair) for pair in ((one, other), (other, one))] == [wanted] * 2


def variable(name: str, value: str, origin: str = "fabric") -> Variable:
    return Variable(name, value, origin, "")


def test_what_was_read_as_planned_is_not_named() -> None:
    planned = [variable(HCA, "=a,b"), variable("NCCL_DEBUG", "INFO"), variable("GLOO_SOCKET_IFNAME", "eth0")]
    assert compare(planned, [], [RankLog(env={HCA: "=b,a"}), RankLog()]) == []


def test_what_was_never_read_is_named() -> None:
    assert compare([variable(HCA, "=a")], [], [RankLog()]) == [ReadVariable(HCA, "=a", "fabric")]


@pytest.mark.parametrize(
    ("elsewhere", "source"),
    [
        ([variable(HCA, "b", "/etc/nccl.conf"), variable(HCA, "c", "login")], "/etc/nccl.conf"),
        ([variable(HCA, "b", "image a:1")], "image a:1"),
        ([variable(HCA, "c", "login")], None),
        ([], None),
    ],
)
def test_what_was_read_from_elsewhere_is_named_with_its_place(elsewhere: list[Variable], source: str | None) -> None:
    ranks = [RankLog(env={HCA: "=a"}), RankLog(env={HCA: "b"})]
    assert compare([variable(HCA, "=a")], elsewhere, ranks) == [ReadVariable(HCA, "=a", "fabric", "b", source)]


@pytest.mark.parametrize("layer", ["login", "image", "nccl.conf"])
def test_what_the_ranks_inherit_need_not_be_read(layer: str) -> None:
    inherited = [Variable(HCA, "=a", "x", "", layer=layer)]
    assert compare(inherited, [], [RankLog()]) == []
    assert compare(inherited, [], [RankLog(env={HCA: "b"})]) == [ReadVariable(HCA, "=a", "x", "b")]


def test_the_name_of_the_network_is_not_logged_and_what_it_does_is() -> None:
    planned = [variable("NCCL_NET", "Socket"), variable("NCCL_NET_GDR_READ", "1")]
    assert compare(planned, [], [RankLog()]) == [ReadVariable("NCCL_NET_GDR_READ", "1", "fabric")]


def test_what_no_plan_has_is_named() -> None:
    ranks = [RankLog(env={"NCCL_P2P_LEVEL": "SYS", "NCCL_DEBUG_FILE": "x"})]
    assert compare([], [], ranks) == [ReadVariable("NCCL_P2P_LEVEL", None, None, "SYS", None)]


def test_a_plugin_sets_variables_of_its_own() -> None:
    ranks = [RankLog(env={"NCCL_PROTO": "simple"}, env_set_by_plugin={"NCCL_PROTO": "simple"})]
    assert compare([], [], ranks) == [ReadVariable("NCCL_PROTO", None, None, "simple", PLUGIN)]
