# SPDX-License-Identifier: GPL-3.0-or-later
"""The search in simulated networks in which much is broken: it names the cause, or says that it cannot."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import LINK, NODE, RAIL
from ansible_collections.muster.train.plugins.module_utils.runner.pairs import search as searches
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.rounds import Pair, circle
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.search import NOTHING, CulpritSearch
from ansible_collections.muster.train.tests.support.pair_networks import Network, searched

ROUNDS = 8
Named = list[tuple[str, list[int], "int | None"]]


def named(search: CulpritSearch) -> Named:
    return [(culprit.kind, culprit.nodes, culprit.rail) for culprit in search.culprits]


def broken(*nodes: int) -> frozenset[tuple[int, ...]]:
    return frozenset((node,) for node in nodes)


def apart(size: int) -> Callable[[Pair, int], bool]:
    """Nodes in groups of a size, between which nothing passes."""
    return lambda pair, _rail: pair[0] // size != pair[1] // size


RAILS: list[tuple[str, int, dict[str, Any], Named]] = [
    ("a rail that is dead everywhere", 16, {"fails": lambda _pair, rail: rail == 5}, [(RAIL, [], 5)]),
    ("a rail that is slow everywhere", 16, {"rail_factors": {5: 4.0}}, [(RAIL, [], 5)]),
    ("on two nodes", 2, {"rail_factors": {5: 4.0}}, [(RAIL, [], 5)]),
    ("a rail dead on most", 16, {"fails": lambda pair, rail: rail == 5 and pair[0] < 12}, [(RAIL, [], 5)]),
    (
        "another rail of each of 4",
        4,
        {"rail_places": {(n, n): 4.0 for n in range(4)}},
        [(RAIL, [n], n) for n in range(4)],
    ),
    (
        "another rail of each of 8",
        8,
        {"rail_places": {(n, n): 4.0 for n in range(8)}},
        [(RAIL, [n], n) for n in range(8)],
    ),
    (
        "another dead rail of each of 8",
        8,
        {"fails": lambda pair, rail: rail in pair},
        [(RAIL, [n], n) for n in range(8)],
    ),
    (
        "a slow rail of a node that loses packets",
        16,
        {"rail_places": {(3, 5): 4.0}, "resent": {(3,): 0.02}},
        [(NODE, [3], None), (RAIL, [3], 5)],
    ),
]


@pytest.mark.parametrize(
    ("nodes", "network", "expected"), [case[1:] for case in RAILS], ids=[case[0] for case in RAILS]
)
def test_rails(nodes: int, network: dict[str, Any], expected: Named) -> None:
    search = searched(Network(nodes, 1, rails=8, **network), ROUNDS)
    assert (named(search), search.unnamed, search.unmeasured) == (expected, 0, 0)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_two_broken_nodes_of_four(pair: Pair) -> None:
    search = searched(Network(4, 1, stalled=broken(*pair)), ROUNDS)
    assert (named(search), search.reason, search.unnamed) == ([(NODE, [node], None) for node in pair], "", 0)


@pytest.mark.parametrize("nodes", [(1, 5), (0, 1, 2), (0, 1, 2, 3), (0, 2, 4, 6), (1, 3, 5, 7)])
def test_broken_nodes_of_eight(nodes: tuple[int, ...]) -> None:
    search = searched(Network(8, 1, stalled=broken(*nodes)), ROUNDS)
    assert (named(search), search.unnamed) == ([(NODE, [node], None) for node in nodes], 0)


@pytest.mark.parametrize(("nodes", "size"), [(4, 2), (8, 4), (9, 3), (16, 4), (16, 12)])
def test_groups_that_do_not_reach_each_other(nodes: int, size: int) -> None:
    search = searched(Network(nodes, 1, fails=apart(size)), ROUNDS)
    groups = [list(range(start, min(nodes, start + size))) for start in range(0, nodes, size)]
    assert (search.groups, named(search), search.unnamed) == (groups, [], 0)


def test_groups_that_reach_each_other_by_other_links_are_none() -> None:
    # Two rounds make a path of the nodes, which one broken link cuts.
    cut = [(pair.pair) for pair in searched(Network(16, 1), 2).samples][3]
    search = searched(Network(16, 1, stalled=frozenset([cut])), 2)
    assert (search.groups, named(search)) == ([], [(LINK, [*cut], None)])


def test_a_broken_node_beside_groups() -> None:
    search = searched(Network(9, 1, stalled=broken(8), fails=apart(4)), ROUNDS)
    assert (search.groups, named(search)) == ([[0, 1, 2, 3], [4, 5, 6, 7]], [(NODE, [8], None)])


def test_nothing_works() -> None:
    all_tried = searched(Network(4, 1, fails=lambda _pair, _rail: True), ROUNDS)
    assert (all_tried.reason, all_tried.culprits, all_tried.unnamed) == (NOTHING, [], len(all_tried.samples))
    some_tried = searched(Network(100, 1, fails=lambda _pair, _rail: True), ROUNDS)
    assert some_tried.reason not in ("", NOTHING) and some_tried.unnamed == len(some_tried.samples)


def fails_at_times(chance: random.Random, part: float, pair: Pair, _rail: int) -> bool:
    return 3 in pair and chance.random() < part


@pytest.mark.parametrize(("part", "least"), [(0.3, 12), (0.5, 19), (0.6, 19)])
def test_a_node_that_fails_at_times_is_named(part: float, least: int) -> None:
    count = 0
    for seed in range(20):
        search = searched(Network(16, seed, fails=functools.partial(fails_at_times, random.Random(seed), part)), ROUNDS)
        assert {node for culprit in search.culprits if culprit.kind == NODE for node in culprit.nodes} <= {3}
        count += (NODE, [3], None) in named(search)
    assert count >= least


def test_a_link_that_failed_once_is_acquitted() -> None:
    broken_link, healthy = Network(16, 1, fails=lambda pair, _rail: pair == (0, 15)), Network(16, 1)
    search = CulpritSearch(16, ROUNDS, 0.2)
    for number, pairs in enumerate(search.rounds(), 1):
        network = broken_link if number == 1 else healthy
        search.add(network.measure(number, pair, 0) for pair in pairs)
    assert sum(sample.outcome != "measured" for sample in search.samples) == 1
    assert (search.culprits, search.unnamed, search.unmeasured) == ([], 0, 0)


def test_suspects_without_time_to_measure_them_again_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "MOST_ROUNDS_AGAIN", 1)
    search = searched(Network(8, 1, stalled=broken(5), bandwidth={(2,): 4.0}), ROUNDS)
    assert (search.culprits, search.unmeasured) == ([], 2)
    assert search.unnamed == sum(5 in sample.pair for sample in search.samples)


def test_a_broken_link_of_a_node_that_seems_slow_is_named() -> None:
    [link] = [pair for pair in next(circle(16)) if 1 in pair]
    network = Network(16, 1, stalled=frozenset([link]))
    search = CulpritSearch(16, ROUNDS, 0.2)
    for number, pairs in enumerate(search.rounds(), 1):
        network.latency = {(1,): 2.0} if number <= ROUNDS else {}
        search.add(network.measure(number, pair, 0) for pair in pairs)
    assert named(search) == [(LINK, [*link], None)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("nodes", [4, 16, 64])
def test_healthy_nodes_of_eight_rails_are_not_named(nodes: int, seed: int) -> None:
    search = searched(Network(nodes, seed, rails=8, noise=0.1, often=0.1), ROUNDS)
    assert (search.culprits, search.unmeasured, search.unnamed) == ([], 0, 0)
