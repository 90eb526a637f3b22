# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts while the storage of a node does not answer, and runners that stood still themselves."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import is_pause, report_of
from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import Coordinator
from ansible_collections.muster.train.plugins.module_utils.runner.gang.restarts import Limits

FAILED: dict[str, Any] = {"why": "it broke"}


def make_coordinator(spares: int = 0) -> Coordinator:
    """Return the coordinator of two nodes whose attempt has failed on both, with the storage of n1 silent."""
    coordinator = Coordinator([f"n{number}" for number in range(2 + spares)], 2, Limits(600, 12, 10, 5), 0.0)
    for number in reversed(range(2 + spares)):
        assert coordinator.on_join(number, 0.0)
    coordinator.on_drained(0, report_of("failed", FAILED), 1.0)
    coordinator.on_drained(1, report_of("failed", FAILED, stalled=True), 1.0)
    return coordinator


def orders(coordinator: Coordinator) -> list[tuple[int, str]]:
    return [(number, str(order["type"])) for number, order in coordinator.take_orders()]


def test_no_attempt_starts_before_all_storage_has_answered() -> None:
    coordinator = make_coordinator()
    orders(coordinator)
    coordinator.tick(2.0)
    assert orders(coordinator) == []
    coordinator.on_drained(1, report_of("failed", FAILED, step=7), 3.0)
    assert orders(coordinator) == [(0, "go"), (1, "go")]


def test_a_spare_replaces_a_node_whose_storage_is_given_up() -> None:
    coordinator = make_coordinator(spares=1)
    orders(coordinator)
    coordinator.on_drained(1, report_of("failed", FAILED, stuck=True), 3.0)
    assert orders(coordinator) == [(0, "go"), (2, "go")]


def test_a_run_that_is_over_does_not_wait_for_storage() -> None:
    coordinator = make_coordinator()
    orders(coordinator)
    coordinator.on_stop_request("stop requested", 3.0)
    assert orders(coordinator) == [(0, "end"), (1, "end")]


@pytest.mark.parametrize(("seconds", "lost_after", "expected"), [(5.9, 12, False), (6, 12, True), (60, 0, False)])
def test_a_runner_that_stood_still_does_not_judge_others(seconds: float, lost_after: float, expected: bool) -> None:
    assert is_pause(seconds, lost_after) is expected
