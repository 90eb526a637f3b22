# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits follow from the facts of machines: adapters, PCIe, NVLink, xGMI, interfaces of TCP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.figures import pcie
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.latency import latency_limit
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.limits import BandwidthLimit, limit_of
from ansible_collections.muster.train.tests.support.benchmark_parts import place, places, setup

# Of the DGX H100 the plan leaves out the storage card.
COMPUTE = "mlx5_0 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_9 mlx5_10 mlx5_11"


def bounds(limit: BandwidthLimit) -> dict[str, float | None]:
    """The bounds by what they come from, in GB/s of three digits."""
    known = {bound.what: bound.gb_per_s for bound in limit.bounds}
    return {what: None if value is None else round(value, 1) for what, value in known.items()}


@pytest.mark.parametrize(
    ("machine", "nproc", "hcas", "expected"),
    [
        # 8 x 400 Gb/s; half of the size must cross, and busbw counts 1.875 times of it. 18 NVLinks of 25 GB/s.
        ("dgx_h100_ib", 8, COMPUTE, {"the links of a GPU": 450.0, "the network of a node": 750.0}),
        ("dgx_a100", 8, "", {"the links of a GPU": 300.0, "the network of a node": 375.0}),
        ("hgx_h100_roce", 8, "", {"the links of a GPU": 450.0, "the network of a node": 750.0}),
        ("mi300x_bnxt", 8, "", {"the links of a GPU": 448.0, "the network of a node": 750.0}),
        # One of four adapters has lost lanes.
        ("lost_lanes", 4, "", {"the links of a GPU": 450.0}),
        # PCIe 4.0 with 16 lanes between the GPUs, and no adapter.
        ("rtx4090", 8, "", {"the links of a GPU": 31.5, "the network of a node": None}),
    ],
)
def test_an_all_reduce_on_two_nodes(machine: str, nproc: int, hcas: str, expected: dict[str, float | None]) -> None:
    limit = limit_of(setup(nproc=nproc), places(machine, 2, nproc, hcas))
    derived = bounds(limit)
    assert {what: derived[what] for what in expected} == expected
    known = [value for value in (bound.gb_per_s for bound in limit.bounds) if value is not None]
    assert limit.gb_per_s == (min(known) if known else None)
    assert limit.reason


def test_one_rank_of_each_node_has_the_adapters_near_its_gpu() -> None:
    one = limit_of(setup(nproc=1), places("dgx_h100_ib", 2, 1, COMPUTE))
    assert bounds(one) == {"the network of a node": 50.0}
    assert "mlx5_0" in one.reason and "mlx5_3" not in one.reason
    rails = limit_of(setup(scope="rails"), places("dgx_h100_ib", 2, 8, COMPUTE))
    assert bounds(rails) == {"the network of a node": 50.0}


def test_within_a_node_no_adapter_counts() -> None:
    limit = limit_of(setup("all_gather", scope="nodes"), places("dgx_h100_ib", 2, 8, COMPUTE))
    assert bounds(limit) == {"the links of a GPU": 450.0}


@pytest.mark.parametrize(
    ("collective", "gb_per_s"),
    [("all_to_all", 93.75), ("broadcast", 400.0), ("send_recv", 50.0), ("reduce_scatter", 750.0)],
)
def test_each_collective_crosses_the_network_in_its_own_way(collective: str, gb_per_s: float) -> None:
    limit = limit_of(setup(collective), places("dgx_h100_ib", 2, 8, COMPUTE))
    assert bounds(limit)["the network of a node"] == round(gb_per_s, 1)


@pytest.mark.parametrize(
    ("hcas", "gb_per_s"), [(COMPUTE, 50.0), ("mlx5_0", 50.0)], ids=["an adapter a GPU", "one adapter"]
)
def test_a_rank_that_sends_alone_has_the_adapters_near_it(hcas: str, gb_per_s: float) -> None:
    limit = limit_of(setup("send_recv"), places("dgx_h100_ib", 2, 8, hcas))
    assert bounds(limit)["the network of a node"] == gb_per_s


def test_sockets_carry_what_one_rank_sends_by_every_interface() -> None:
    gloo = setup("send_recv", backend="gloo")
    limit = limit_of(gloo, places("dgx_h100_ib", 2, 8, GLOO_SOCKET_IFNAME="enp41s0f1np1"))
    assert bounds(limit)["the network of a node"] == 12.5
    assert limit_of(gloo, places("dgx_h100_ib", 2, 8, GLOO_SOCKET_IFNAME="enp41s0f1np")).gb_per_s is None


def test_the_slowest_node_bounds_all() -> None:
    fast, slow = place("dgx_h100_ib", "fast", 8, COMPUTE), place("dgx_h100_ib", "slow", 8, "mlx5_0")
    limit = limit_of(setup(nnodes=2, nproc=8), [fast, slow])
    assert bounds(limit)["the network of a node"] == 93.8
    assert "slow" in limit.reason


def test_an_adapter_is_as_fast_as_its_lanes() -> None:
    whole = place("dgx_h100_ib", "node0", 1, "mlx5_0")
    rdma = whole.node.rdma
    assert rdma is not None
    narrow = [replace(hca, link_width=4) if hca.name == "mlx5_0" else hca for hca in rdma.hcas]
    cut = replace(whole, node=replace(whole.node, rdma=replace(rdma, hcas=narrow)))
    other = place("dgx_h100_ib", "node1", 1, "mlx5_0")
    limit = limit_of(setup(nproc=1), [cut, other])
    assert limit.gb_per_s == pcie(4, 5) == pytest.approx(15.752)
    assert "4 lanes" in limit.reason


def test_tcp_is_as_fast_as_its_interface() -> None:
    tcp = limit_of(setup(fabric="tcp", nproc=1), places("rtx4090", 2, 1, NCCL_SOCKET_IFNAME="=enp1s0f0"))
    assert tcp.gb_per_s == 1.25
    gloo = limit_of(setup(backend="gloo", nproc=1), places("dgx_h100_ib", 2, 1, GLOO_SOCKET_IFNAME="enp41s0f1np1"))
    assert gloo.gb_per_s == 12.5
    assert limit_of(setup(backend="gloo", nproc=1), places("dgx_h100_ib", 2, 1)).gb_per_s is None


def test_the_loopback_of_a_machine_has_no_rate() -> None:
    same = [place("laptop", "node0", 1)] * 2
    limit = limit_of(setup(backend="gloo", fabric="tcp", nproc=1), same)
    assert limit.gb_per_s is None and "loopback" in limit.reason


def test_the_latency_of_nccls_model() -> None:
    # 6.6 us and 14 steps of NVLink; 6.8 us, 14 steps of NVLink and two levels of the network.
    assert latency_limit(setup(scope="nodes"), True).us == pytest.approx(6.6 + 14 * 0.6)
    assert latency_limit(setup(), True).us == pytest.approx(6.8 + 14 * 0.6 + 2 * 5.0)
    assert latency_limit(setup(nproc=1), True).us == pytest.approx(6.6 + 2 * 2.7), "a ring of two has two steps"
    assert latency_limit(setup("all_gather", nproc=1, nnodes=4), True).us == pytest.approx(6.6 + 3 * 2.7)
    assert latency_limit(setup("broadcast", nproc=1), True).us == pytest.approx(6.6 + 2.7)
    assert latency_limit(setup(backend="gloo"), True).us is None
    assert latency_limit(setup(fabric="tcp"), True).us is None
