# SPDX-License-Identifier: GPL-3.0-or-later
"""Who measures whom."""

from __future__ import annotations

from itertools import combinations, islice

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.pairs.rounds import circle, without


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 101, 256])
def test_all_pairs_meet_once_and_each_node_is_busy_once_in_a_round(nodes: int) -> None:
    whole = nodes - 1 if nodes % 2 == 0 else nodes
    rounds = list(islice(circle(nodes), 2 * whole))
    for pairs in rounds:
        busy = [node for pair in pairs for node in pair]
        assert len(busy) == len(set(busy)) == nodes - nodes % 2
    assert sorted(pair for pairs in rounds[:whole] for pair in pairs) == list(combinations(range(nodes), 2))
    assert rounds[whole:] == rounds[:whole]


def test_nodes_that_are_left_out() -> None:
    assert without([(0, 3), (1, 2)], {3}) == [(1, 2)]
