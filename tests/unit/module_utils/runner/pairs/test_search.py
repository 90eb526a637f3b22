# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for what is slow, in simulated networks with noise of heavy tails."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import LINK, NODE, RAIL
from ansible_collections.muster.train.plugins.module_utils.runner.pairs import judgment
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.search import ALONE, NOTHING, CulpritSearch
from ansible_collections.muster.train.tests.support.pair_networks import Network, searched

SEEDS = range(20)
# The rounds that the plan would choose.
ROUNDS = {2: 8, 3: 12, 4: 8, 8: 8, 16: 8, 256: 8, 1000: 8}


def named(nodes: int, seed: int = 1, **network: Any) -> list[tuple[str, list[int], int | None]]:
    """What a search in such a network names."""
    search = searched(Network(nodes, seed, **network), ROUNDS[nodes])
    return [(culprit.kind, culprit.nodes, culprit.rail) for culprit in search.culprits]


@pytest.mark.parametrize("seed", SEEDS)
def test_three_slow_nodes_of_256_are_named_and_no_other(seed: int) -> None:
    # A link of half speed, one that lost a lane of four, and a long way.
    slow = named(256, seed, bandwidth={(17,): 4 / 3, (101,): 2.0}, latency={(200,): 1.6})
    assert sorted(slow) == [(NODE, [17], None), (NODE, [101], None), (NODE, [200], None)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("nodes", [3, 256])
@pytest.mark.parametrize(("noise", "often"), [(0.03, 0.05), (0.1, 0.1)])
def test_healthy_nodes_are_not_named(nodes: int, noise: float, often: float, seed: int) -> None:
    assert named(nodes, seed, noise=noise, often=often) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slow", [{"bandwidth": {(1,): 3.0}}, {"latency": {(1,): 10.0}}, {"resent": {(1,): 0.02}}])
def test_one_slow_node_of_three(slow: dict[str, Any], seed: int) -> None:
    assert named(3, seed, **slow) == [(NODE, [1], None)]


CASES: list[tuple[str, int, dict[str, Any], list[tuple[str, list[int], int | None]]]] = [
    ("half of the nodes", 4, {"bandwidth": {(0,): 4.0, (3,): 4.0}}, [(NODE, [0], None), (NODE, [3], None)]),
    ("a quarter", 8, {"bandwidth": {(0,): 2.0, (5,): 3.0}}, [(NODE, [0], None), (NODE, [5], None)]),
    ("a link", 3, {"bandwidth": {(0, 2): 4.0}}, [(LINK, [0, 2], None)]),
    ("a link of many", 16, {"latency": {(1, 14): 4.0}}, [(LINK, [1, 14], None)]),
    ("one rail of eight", 16, {"rails": 8, "rail_places": {(3, 5): 2.0}}, [(RAIL, [3], 5)]),
    ("all rails", 16, {"rails": 8, "rail_places": {(3, rail): 2.0 for rail in range(8)}}, [(NODE, [3], None)]),
    ("most rails", 16, {"rails": 4, "rail_places": {(3, rail): 2.0 for rail in range(3)}}, [(NODE, [3], None)]),
    ("a node that stalls", 3, {"stalled": frozenset([(1,)])}, [(NODE, [1], None)]),
    ("a link that stalls", 3, {"stalled": frozenset([(0, 1)])}, [(LINK, [0, 1], None)]),
]


@pytest.mark.parametrize(
    ("nodes", "network", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_named(nodes: int, network: dict[str, Any], expected: list[tuple[str, list[int], int | None]]) -> None:
    assert named(nodes, **network) == expected


def test_what_two_nodes_cannot_tell() -> None:
    slow = searched(Network(2, 1, bandwidth={(1,): 4.0}), ROUNDS[2])
    assert (slow.culprits, slow.reason) == ([], ALONE)
    broken = searched(Network(2, 1, stalled=frozenset([(0, 1)])), ROUNDS[2])
    assert ([culprit.kind for culprit in broken.culprits], broken.reason) == ([LINK], NOTHING)


def test_nobody_is_named_where_nothing_works() -> None:
    search = searched(Network(3, 1, stalled=frozenset([(0,), (1,), (2,)])), ROUNDS[3])
    assert (search.culprits, search.reason) == ([], NOTHING)


def test_a_node_with_which_nothing_works_is_left_out_of_the_next_rounds() -> None:
    search = searched(Network(8, 1, stalled=frozenset([(5,)])), ROUNDS[8])
    failed = [sample.round for sample in search.samples if 5 in sample.pair]
    assert failed == [1, 2, *range(9, 9 + judgment.REPEATS)]


def test_suspects_are_measured_again_with_healthy_partners() -> None:
    search = searched(Network(8, 1, bandwidth={(2,): 4.0, (6,): 4.0}), ROUNDS[8])
    again = [sample.pair for sample in search.samples if sample.round > ROUNDS[8]]
    partners = {node: [sum(pair) - node for pair in again if node in pair] for node in (2, 6)}
    for known in partners.values():
        assert len(known) == len(set(known)) >= judgment.REPEATS
        assert not {2, 6} & set(known)


def test_a_suspect_that_is_fast_once_is_acquitted() -> None:
    network, search = Network(8, 1, noise=0.0, often=0.0), CulpritSearch(8, 8, 0.2)
    for number, pairs in enumerate(search.rounds(), 1):
        is_slow = number <= 8
        network.bandwidth = {(4,): 3.0} if is_slow else {}
        search.add(network.measure(number, pair, 0) for pair in pairs)
        if not is_slow:
            assert [pair for pair in pairs if 4 in pair]
    assert (number, search.culprits) == (9, [])


def test_a_thousand_nodes() -> None:
    slow = named(1000, rails=2, rail_places={(3, 1): 2.0}, bandwidth={(77,): 1.5}, stalled=frozenset([(500,)]))
    assert slow == [(NODE, [500], None), (RAIL, [3], 1), (NODE, [77], None)]


def test_what_was_measured_is_with_the_name() -> None:
    network = Network(8, 1, noise=0.0, often=0.0, bandwidth={(4,): 3.0})
    [culprit] = searched(network, 8).culprits
    [deviation] = culprit.deviations
    assert [deviation.value, deviation.typical] == pytest.approx([16e9, 48e9])
    assert culprit.measurements == judgment.REPEATS
