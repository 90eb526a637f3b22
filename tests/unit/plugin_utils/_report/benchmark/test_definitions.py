# SPDX-License-Identifier: GPL-3.0-or-later
"""The bandwidths are those of nccl-tests: its units, and its factors for each collective."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.definitions import (
    FACTORS,
    algorithm_bandwidth,
    bus_bandwidth,
    crossing,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import COLLECTIVES

# doc/PERFORMANCE.md and the functions GetBw of nccl-tests, for 4 and for 16 ranks.
OF_NCCL_TESTS = {
    "all_reduce": (1.5, 1.875),
    "all_gather": (0.75, 0.9375),
    "reduce_scatter": (0.75, 0.9375),
    "all_to_all": (0.75, 0.9375),
    "broadcast": (1.0, 1.0),
    "send_recv": (1.0, 1.0),
}


def test_every_collective_has_a_factor() -> None:
    assert set(FACTORS) == set(COLLECTIVES) == set(OF_NCCL_TESTS)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_factors_are_those_of_nccl_tests(collective: str) -> None:
    assert (FACTORS[collective](4), FACTORS[collective](16)) == OF_NCCL_TESTS[collective]


def test_units_are_gigabytes_of_ten_to_the_nine() -> None:
    assert algorithm_bandwidth(1_000_000_000, 0.5) == 2.0
    assert bus_bandwidth("all_reduce", 4, 1_000_000_000, 0.5) == 3.0
    assert algorithm_bandwidth(8, 0.0) == 0.0


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_one_rank_of_each_node_crosses_the_network_as_the_bus_bandwidth_counts(collective: str) -> None:
    for nodes in (2, 3, 8):
        assert crossing(collective, nodes, 1) == pytest.approx(FACTORS[collective](nodes))


def test_what_must_cross_the_network_of_a_node_of_several_ranks() -> None:
    assert crossing("all_reduce", 2, 8) == 1.0
    assert crossing("all_gather", 4, 8) == 0.75
    assert crossing("broadcast", 4, 8) == 1.0
    # Each of the 8 ranks sends half of the size to the other node.
    assert crossing("all_to_all", 2, 8) == 4.0
