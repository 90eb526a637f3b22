# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks keep the profiler in front of their command."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.profiled import command_of

PROFILER, COMMAND = ["nsys", "profile", "-o", "rank_%q{RANK}"], ["python3", "-u", "train.py", "nsys"]


@pytest.mark.parametrize(
    ("ranks", "profiled"), [("0", [0]), ("0-2", [0, 1, 2]), ("1,10-11", [1, 10, 11]), ("7,3", [3, 7])]
)
def test_only_chosen_ranks(ranks: str, profiled: list[int]) -> None:
    commands = {rank: command_of([ranks, str(len(PROFILER)), *PROFILER, *COMMAND], rank) for rank in range(12)}
    assert [rank for rank, command in commands.items() if command == [*PROFILER, *COMMAND]] == profiled
    assert [rank for rank, command in commands.items() if command == COMMAND] == sorted({*range(12)} - {*profiled})
