# SPDX-License-Identifier: GPL-3.0-or-later
"""The coordinator's decisions, event by event, with a clock that the test controls."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gang import ABSENT, LOST
from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import GATHER_S, OVER
from ansible_collections.muster.train.plugins.module_utils.runner.gang.end_cause import join_names
from ansible_collections.muster.train.tests.support.coordinators import end_of, kinds, make_coordinator, report


def test_no_node_starts_before_all_have_joined() -> None:
    coordinator = make_coordinator(gathered=False)
    assert coordinator.on_join(0, 0.0) and coordinator.on_join(2, 1.0)
    assert coordinator.take_orders() == []
    assert coordinator.missing_nodes() == ["n1"]
    assert not coordinator.on_join(2, 2.0), "a place is taken once"
    assert coordinator.on_join(1, 2.0)
    assert kinds(coordinator.take_orders()) == [(0, "go"), (1, "go"), (2, "go")]


@pytest.mark.parametrize(("join_timeout", "at"), [(600, GATHER_S + 5.0), (30, 30.0)], ids=["silence", "in all"])
def test_a_node_that_does_not_join_is_named(join_timeout: float, at: float) -> None:
    coordinator = make_coordinator(gathered=False, join_timeout=join_timeout, lost_after=0)
    coordinator.on_join(0, 0.0)
    coordinator.on_join(2, 5.0)
    coordinator.tick(at - 0.1)
    assert coordinator.take_orders() == []
    coordinator.tick(at)
    orders = coordinator.take_orders()
    assert kinds(orders) == [(0, "end"), (2, "end")]
    end = end_of(orders)
    assert (end["verdict"], end["why"].partition(" ")[0]) == ("failed", "n1")
    assert not coordinator.on_join(1, at), "too late"


def test_a_node_that_leaves_before_the_start_ends_the_run() -> None:
    coordinator = make_coordinator(gathered=False)
    coordinator.on_join(0, 0.0)
    coordinator.on_join(1, 0.0)
    coordinator.on_loss(1, "the connection was closed")
    end = end_of(coordinator.take_orders())
    assert (end["verdict"], end["node"]) == ("failed", "n1")


def test_the_run_succeeds_when_all_nodes_succeed() -> None:
    coordinator = make_coordinator()
    for rank in (2, 0):
        coordinator.on_drained(rank, report("succeeded", ""), 1.0)
        assert coordinator.take_orders() == []
    coordinator.on_drained(1, report("succeeded", ""), 1.0)
    orders = coordinator.take_orders()
    assert kinds(orders) == [(0, "end"), (1, "end"), (2, "end")]
    assert end_of(orders) == {"type": "end", "verdict": "succeeded", "why": "", "node": None, "rank": None}


def test_a_failure_stops_the_other_nodes_and_the_end_waits_for_all() -> None:
    coordinator = make_coordinator()
    coordinator.on_failure(1, report("failed", rank=5), 1.0)
    stop = {"type": "stop", "why": "n1: it broke", "grace": 10}
    assert coordinator.take_orders() == [(rank, stop) for rank in (0, 2)], "the failed node is already stopping"
    coordinator.on_drained(1, report("failed", rank=5), 2.0)
    coordinator.on_drained(0, report("stopped"), 2.0)
    assert coordinator.take_orders() == []
    coordinator.on_failure(2, report("failed", "connection closed by peer"), 3.0)
    assert coordinator.take_orders() == [], "the first cause stays"
    coordinator.on_drained(2, report("failed", "connection closed by peer"), 3.0)
    end = end_of(coordinator.take_orders())
    assert (end["verdict"], end["why"], end["node"], end["rank"]) == ("failed", "n1: it broke", "n1", 5)
    assert [(kept["node"], kept["why"], kept["cause"]) for kept in coordinator.summary()["reports"]] == [
        ("n1", "it broke", True),
        ("n2", "connection closed by peer", False),
    ]
    assert coordinator.summary()["phases"] == {"n0": "stopped", "n1": "failed", "n2": "failed"}


def test_the_cause_is_listed_first_even_if_it_was_reported_later() -> None:
    coordinator = make_coordinator()
    coordinator.on_heartbeat(2, 1.0)
    coordinator.on_failure(2, report("failed", "connection closed by peer"), 11.0)
    assert coordinator.tick(12.1) == [1], "it was silent before that"
    coordinator.on_drained(0, report("stopped"), 13.0)
    coordinator.on_heartbeat(2, 13.0)
    coordinator.on_drained(2, report("failed", "connection closed by peer"), 13.0)
    assert end_of(coordinator.take_orders())["node"] == "n1"
    assert [(kept["node"], kept["cause"]) for kept in coordinator.summary()["reports"]] == [("n1", True), ("n2", False)]
    assert coordinator.summary()["phases"] == {"n0": "stopped", "n1": "lost", "n2": "failed"}


def test_of_two_failures_the_one_that_lost_no_peer_is_the_cause_though_it_came_later() -> None:
    coordinator = make_coordinator()
    for number in range(3):
        coordinator.on_start(number)
    coordinator.on_drained(1, report("failed", "rank 2 lost a peer", rank=2, likeness=4), 1.0)
    coordinator.on_drained(2, report("failed", "rank 4 has no key", rank=4, likeness=0), 2.0)
    coordinator.on_drained(0, report("failed", "rank 0 has no key either", rank=0, likeness=0), 3.0)
    cause = coordinator.cause
    assert cause is not None
    assert (cause.node, cause.rank, cause.why) == ("n2", 4, "n2: rank 4 has no key")


def test_a_silent_node_is_lost() -> None:
    coordinator = make_coordinator()
    coordinator.on_heartbeat(1, 5.0)
    coordinator.on_heartbeat(2, 9.0)
    assert coordinator.tick(17.0) == []
    assert coordinator.tick(17.1) == [1]
    assert kinds(coordinator.take_orders()) == [(0, "stop"), (2, "stop")]
    coordinator.on_drained(0, report("stopped"), 18.0)
    coordinator.on_drained(2, report("stopped"), 18.0)
    orders = coordinator.take_orders()
    assert kinds(orders) == [(0, "end"), (2, "end")]
    assert (end_of(orders)["verdict"], end_of(orders)["node"]) == ("lost", "n1")


def test_silence_has_no_effect_where_nodes_are_never_lost() -> None:
    assert make_coordinator(lost_after=0).tick(1e6) == []


def test_a_lost_node_is_the_cause_of_earlier_failures_of_its_peers() -> None:
    coordinator = make_coordinator()
    coordinator.on_heartbeat(1, 1.0)
    coordinator.on_failure(2, report("failed", "connection closed by peer"), 3.0)
    coordinator.on_drained(2, report("failed", "connection closed by peer"), 3.0)
    coordinator.on_drained(0, report("stopped"), 3.0)
    coordinator.on_heartbeat(2, 10.0)
    assert coordinator.tick(13.1) == [1]
    assert end_of(coordinator.take_orders())["node"] == "n1"


def test_a_disconnected_node_stops_no_other_and_is_named_at_the_end() -> None:
    coordinator = make_coordinator(lost_after=0)
    coordinator.on_loss(1, "the connection was closed")
    assert coordinator.take_orders() == []
    coordinator.on_drained(0, report("succeeded", ""), 9.0)
    coordinator.on_drained(2, report("succeeded", ""), 9.0)
    end = end_of(coordinator.take_orders())
    assert (end["verdict"], end["node"]) == ("lost", "n1")


def test_a_loss_after_a_failure_is_not_the_cause() -> None:
    coordinator = make_coordinator()
    coordinator.on_failure(2, report("failed"), 3.0)
    coordinator.on_heartbeat(1, 4.0)
    coordinator.on_drained(2, report("failed"), 4.0)
    coordinator.on_drained(0, report("stopped"), 4.0)
    coordinator.on_loss(1, "the connection was closed")
    assert end_of(coordinator.take_orders())["node"] == "n2"


def test_a_paused_head_names_itself_as_the_cause() -> None:
    coordinator = make_coordinator()
    coordinator.reset_silence(20.0)
    assert coordinator.tick(20.0) == [], "they could not be heard"
    coordinator.on_loss(2, "the connection was closed", head_pause_s=20.0)
    coordinator.on_loss(1, "the connection was closed", head_pause_s=20.0)
    assert kinds(coordinator.take_orders()) == [(0, "stop"), (1, "stop")], "its own ranks are stopped too"
    coordinator.on_drained(0, report("stopped"), 21.0)
    end = end_of(coordinator.take_orders()[-1:])
    assert (end["verdict"], end["node"]) == ("lost", "n0")


def test_a_node_that_is_done_may_leave() -> None:
    coordinator = make_coordinator()
    coordinator.on_drained(1, report("succeeded"), 1.0)
    coordinator.on_loss(1, "the connection was closed")
    coordinator.on_drained(0, report("succeeded"), 2.0)
    coordinator.on_drained(2, report("succeeded"), 2.0)
    assert end_of(coordinator.take_orders())["verdict"] == "succeeded"


def test_a_stop_ends_all_nodes_with_its_grace_period() -> None:
    coordinator = make_coordinator(max_restarts=3)
    coordinator.on_stop_request("stop requested", 60)
    assert coordinator.take_orders() == [
        (rank, {"type": "stop", "why": "stop requested", "grace": 60}) for rank in range(3)
    ]
    for rank in range(3):
        coordinator.on_drained(rank, report("stopped"), 1.0)
    assert end_of(coordinator.take_orders())["verdict"] == "stopped"


def test_a_stop_prevents_a_restart_and_the_failure_stays_the_cause() -> None:
    coordinator = make_coordinator(max_restarts=3)
    coordinator.on_failure(1, report("failed"), 1.0)
    coordinator.take_orders()
    coordinator.on_stop_request("stop requested", 1)
    assert [order["grace"] for _rank, order in coordinator.take_orders()] == [1, 1, 1]
    for rank in range(3):
        coordinator.on_drained(rank, report("failed" if rank == 1 else "stopped"), 1.0)
    end = end_of(coordinator.take_orders())
    assert (end["verdict"], end["why"]) == ("failed", "n1: it broke")


def test_the_first_of_many_reports_are_kept() -> None:
    coordinator = make_coordinator(100)
    for rank in range(100):
        coordinator.on_failure(rank, report("failed", f"why {rank}"), 1.0)
    assert [kept["node_rank"] for kept in coordinator.summary()["reports"]] == list(range(32))


def test_long_lists_of_names_are_shortened() -> None:
    assert join_names(["a", "b"]) == "a, b"
    assert join_names([f"n{number}" for number in range(11)]) == "n0, n1, n2, n3, n4, n5, n6, n7 and 3 more"


@pytest.mark.parametrize("seed", range(300))
def test_any_sequence_of_events_ends_the_run_exactly_once(seed: int) -> None:
    """Random events: no start before all have joined, one end per node, and no order after it."""
    turn = random.Random(seed)
    spares = turn.choice([0, 0, 2])
    coordinator = make_coordinator(
        4, gathered=False, spares=spares, max_restarts=turn.choice([0, 2]), lost_after=turn.choice([0, 12])
    )
    now, joined, starts = 0.0, {0}, 0
    ended: list[tuple[int, dict[str, Any]]] = []
    coordinator.on_join(0, now)

    def check_orders() -> int:
        started = 0
        for number, order in coordinator.take_orders():
            assert not [rank for rank, _order in ended if rank == number], "nothing after the end"
            assert coordinator.nodes[number].state != LOST
            if order["type"] == "go":
                started += 1
                assert spares or joined == set(range(4))
                assert number in joined and coordinator.nodes[number].rank == order["node_rank"]
                assert spares or number == order["node_rank"]
                assert sorted(node.rank for node in coordinator.nodes if node.rank is not None) == list(range(4))
            elif order["type"] == "end":
                ended.append((number, order))
        return started

    for _step in range(400):
        now += turn.random() * 4
        rank = turn.randrange(4 + spares)
        event = turn.choice(["join", "hear", "hear", "run", "fail", "empty", "empty", "gone", "stop", "tick"])
        if event in ("gone", "stop") and turn.random() < 0.9:
            continue
        if event == "join" and coordinator.on_join(rank, now):
            joined.add(rank)
        elif event == "hear":
            coordinator.on_heartbeat(rank, now)
        elif event == "run":
            coordinator.on_start(rank)
        elif event == "fail":
            coordinator.on_failure(rank, report("failed"), now)
        elif event == "empty":
            coordinator.on_drained(
                rank, report(turn.choice(["succeeded", "failed", "stopped"]), step=turn.randrange(50)), now
            )
        elif event == "gone" and rank:
            coordinator.on_loss(rank, "the connection was closed")
        elif event == "stop":
            coordinator.on_stop_request("stop requested", 5)
        starts += check_orders()
        coordinator.tick(now)
        starts += check_orders()
    assert len({tuple(order.items()) for _rank, order in ended}) == (1 if ended else 0)
    assert starts % 4 == 0, "all or none"
    for _attempt in range(4):  # every remaining node reports that nothing is left there
        now += 60  # a lost node is given the time to end
        coordinator.reset_silence(now)
        coordinator.tick(now)
        check_orders()
        for rank in range(4 + spares):
            coordinator.on_drained(rank, report("stopped"), now)
        check_orders()
    coordinator.tick(now + 2 * GATHER_S)
    check_orders()
    assert coordinator.phase == OVER
    if ended:
        present = sorted(rank for rank in joined if coordinator.nodes[rank].state not in (ABSENT, LOST))
        assert sorted(rank for rank, _order in ended) == present
