# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts while the storage of a node does not answer, and runners that stood still themselves."""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang import member as member_module
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import report_of
from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import Coordinator
from ansible_collections.muster.train.plugins.module_utils.runner.gang.head import Head
from ansible_collections.muster.train.plugins.module_utils.runner.gang.member import HEAD_TIMEOUT_S, Member
from ansible_collections.muster.train.plugins.module_utils.runner.gang.network import GangNetwork
from ansible_collections.muster.train.plugins.module_utils.runner.gang.restarts import Limits
from ansible_collections.muster.train.tests.support.gang import KEY, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for

LOST_AFTER_S = 6
PATIENCE_S = 60.0
FAILED: dict[str, Any] = {"why": "it broke"}


def make_coordinator(spares: int = 0, stuck: bool = False) -> Coordinator:
    """Return the coordinator of two nodes whose attempt has failed on both, with the storage of n1 silent.

    stuck: n1 has given its storage up.
    """
    coordinator = Coordinator([f"n{number}" for number in range(2 + spares)], 2, Limits(600, 12, 10, 5), 0.0)
    for number in reversed(range(2 + spares)):
        assert coordinator.on_join(number, 0.0)
    coordinator.on_drained(0, report_of("failed", FAILED), 1.0)
    coordinator.on_drained(1, report_of("failed", FAILED, stuck=stuck, stalled=True), 1.0)
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


def test_a_spare_does_not_wait_for_storage_that_was_given_up_before_the_report() -> None:
    coordinator = make_coordinator(spares=1, stuck=True)
    assert orders(coordinator)[-2:] == [(0, "go"), (2, "go")]
    coordinator.on_drained(1, report_of("failed", FAILED, stuck=True), 3.0)
    assert orders(coordinator) == []


def test_a_run_that_is_over_does_not_wait_for_storage() -> None:
    coordinator = make_coordinator()
    orders(coordinator)
    coordinator.on_stop_request("stop requested", 3.0)
    assert orders(coordinator) == [(0, "end"), (1, "end")]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Head, Member]]:
    """A head and a member whose ranks run."""
    jobs = make_gang(tmp_path, [["true"]] * 2, lost_after=LOST_AFTER_S)
    selector = selectors.DefaultSelector()
    network = GangNetwork()
    head, member = Head(jobs[0], KEY.encode(), selector, network), Member(jobs[1], KEY.encode(), selector, network)

    def both_start() -> bool:
        for key, events in selector.select(0):
            key.data(events)
        for gang in (head, member):
            gang.tick(time.monotonic())
        return bool(head.orders and member.orders)

    wait_for(both_start, "both start", PATIENCE_S)
    for gang in (head, member):
        gang.orders.clear()
        gang.report_running()
    yield head, member
    member.close()
    head.close()


@pytest.mark.parametrize(("number", "seconds"), [(0, LOST_AFTER_S), (1, 1)])
def test_a_runner_that_stood_still_judges_the_silence_of_others_anew(
    pair: tuple[Head, Member], number: int, seconds: int
) -> None:
    """A member has a heartbeat: the head may have given it up, and a spare take its rank."""
    gang = pair[number]
    stood_still_until = time.monotonic() + 60
    gang.tick(stood_still_until)
    assert list(gang.orders) == []
    for second in range(1, seconds + 2):
        assert list(gang.orders) == []
        gang.tick(stood_still_until + second)
    assert [order["type"] for order in gang.orders] == ["stop"]
    assert f"for {LOST_AFTER_S} s" in gang.orders[0]["why"]


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    """A member that still has to reach its head, at a port whose listener has no room and answers nothing."""
    _head, job = make_gang(tmp_path, [["true"]] * 2, lost_after=2)
    gang = Member(job, KEY.encode(), selectors.DefaultSelector(), GangNetwork())
    with socket.socket() as listener, contextlib.ExitStack() as others:
        listener.bind((job.rendezvous.address, job.gang.port))
        listener.listen(0)
        for _number in range(8):
            other = others.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(listener.getsockname())
        yield gang
        gang.close()


def test_slow_attempts_to_connect_are_no_pause(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes as long as would be a pause of this runner, and yet it ends."""
    monkeypatch.setattr(member_module, "HEAD_TIMEOUT_S", 3.0)
    until = time.monotonic() + PATIENCE_S
    while not member.orders and time.monotonic() < until:
        member.tick(time.monotonic())
    [order] = member.orders
    assert "could not reach the head at 127.0.0.1:" in order["why"]
    assert order["why"].endswith("for 3 s: timed out")


def test_a_member_that_stood_still_before_it_joined_tries_anew(member: Member) -> None:
    stood_still_until = time.monotonic() + 2 * HEAD_TIMEOUT_S
    member.tick(stood_still_until)
    assert list(member.orders) == []
    member._next_try = math.inf
    for half_second in range(1, 2 * int(HEAD_TIMEOUT_S) + 2):
        assert list(member.orders) == []
        member.tick(stood_still_until + half_second / 2)
    assert [order["type"] for order in member.orders] == ["end"]
