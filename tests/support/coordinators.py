# SPDX-License-Identifier: GPL-3.0-or-later
"""A coordinator for tests: its nodes have joined, and a node reports what the test says."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import Coordinator
from ansible_collections.muster.train.plugins.module_utils.runner.gang.restarts import Limits


def make_coordinator(count: int = 3, gathered: bool = True, spares: int = 0, **limits: Any) -> Coordinator:
    coordinator = Coordinator(
        [f"n{number}" for number in range(count + spares)],
        count,
        Limits(**{"join_timeout": 600, "lost_after": 12, "abort_grace": 10, "max_restarts": 0, **limits}),
        0.0,
    )
    if gathered:
        for number in reversed(range(count + spares)):
            assert coordinator.on_join(number, 0.0)
        assert coordinator.take_orders() == [(rank, go(0, rank)) for rank in range(count)]
        for rank in range(count):
            coordinator.on_start(rank)
    return coordinator


def go(attempt: int, node_rank: int) -> dict[str, Any]:
    return {"type": "go", "attempt": attempt, "node_rank": node_rank}


def report(phase: str, why: str = "it broke", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "why": why, "rank": None, "step": None, "stuck": False, **more}


def kinds(orders: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, str]]:
    return [(rank, str(order["type"])) for rank, order in orders]


def end_of(orders: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    [end] = {tuple(order.items()) for _rank, order in orders if order["type"] == "end"}
    return dict(end)
