# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is to blame for what failed."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import MEASURED, UNREACHABLE, PairSample
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.reach import blamed, hopeless
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.rounds import Pair


def sample(pair: Pair, outcome: str = UNREACHABLE, towards: int | None = None) -> PairSample:
    return PairSample(1, *pair, 0, outcome, towards=towards)


@pytest.mark.parametrize(("towards", "node", "link"), [(1, 1, (2, 3)), (2, 2, (0, 1))])
def test_of_two_nodes_that_failed_as_often_it_is_the_one_that_accepts_no_connection(
    towards: int, node: int, link: Pair
) -> None:
    failed = [sample((0, 1)), sample((1, 2), towards=towards), sample((2, 3))]
    assert blamed(failed) == ([node], [link])


def test_what_a_node_explains_accuses_no_link() -> None:
    assert blamed([sample((0, 2)), sample((1, 2)), sample((0, 1), MEASURED)]) == ([2], [])


def test_partners_that_work_with_nobody_prove_nothing() -> None:
    failed = [sample((0, 1)), sample((0, 2))]
    assert hopeless(failed, 2) == set()
    assert hopeless([*failed, sample((1, 2), MEASURED)], 2) == {0}
