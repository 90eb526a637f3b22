# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the program of a benchmark decides without torch."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.collectives import counts_of


def test_sizes_of_the_same_count_are_measured_once() -> None:
    assert counts_of("all_reduce", [1, 2, 4, 8, 16], item=4, ranks=8) == [1, 2, 4]
    assert counts_of("all_gather", [8, 16, 32, 64], item=4, ranks=8) == [1, 2]
