# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the loop of the filter waits for pods."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.filter.pods_settled import pods_settled

SET = {"metadata": {"name": "muster"}, "spec": {"replicas": 1}}
# A pod without a problem, which only needs time.
STARTING = {"metadata": {"name": "muster-0"}, "status": {"conditions": []}}


@pytest.mark.parametrize(
    ("pods", "attempts", "is_settled"),
    [([STARTING], 1, False), ([STARTING], 49, False), ([STARTING], 50, True), ([], 9, False), ([], 10, True)],
)
def test_it_ends_before_the_loop_does(pods: list[object], attempts: int, is_settled: bool) -> None:
    answer = {"resources": pods, "attempts": attempts}
    assert pods_settled(answer, SET, patience=20, limit=100) is is_settled
