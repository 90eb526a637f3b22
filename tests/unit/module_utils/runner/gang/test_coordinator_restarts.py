# SPDX-License-Identifier: GPL-3.0-or-later
"""The coordinator's restarts, with spares and without, event by event, with a clock that the test controls."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.run import EndedAttempt
from ansible_collections.muster.train.plugins.module_utils.runner.gang.coordinator import GATHER_S, Coordinator
from ansible_collections.muster.train.plugins.module_utils.runner.gang.reports import MAX_ATTEMPTS
from ansible_collections.muster.train.plugins.module_utils.runner.gang.restarts import LONG_S
from ansible_collections.muster.train.tests.support.coordinators import end_of, go, kinds, make_coordinator, report


def fail(
    coordinator: Coordinator, step: int | None, stuck: bool = False, saved: bool = False, now: float = 1.0
) -> list[tuple[int, str]]:
    coordinator.take_orders()
    coordinator.on_failure(1, report("failed"), now)
    for rank in range(3):
        coordinator.on_drained(
            rank, report("failed" if rank == 1 else "stopped", step=step, stuck=stuck, saved=saved), now
        )
    return [order for order in kinds(coordinator.take_orders()) if order[1] != "stop"]


def test_a_failed_run_is_restarted_max_restarts_times() -> None:
    coordinator = make_coordinator(max_restarts=2)
    assert fail(coordinator, 10) == [(0, "go"), (1, "go"), (2, "go")]
    assert coordinator.attempt == 1
    assert fail(coordinator, 20) == [(0, "go"), (1, "go"), (2, "go")]
    assert fail(coordinator, 30) == [(0, "end"), (1, "end"), (2, "end")]


def test_attempts_without_a_new_step_end_the_run() -> None:
    coordinator = make_coordinator(max_restarts=50)
    assert fail(coordinator, 10)[0] == (0, "go")
    assert fail(coordinator, 10)[0] == (0, "go")
    assert fail(coordinator, 9)[0] == (0, "end")
    assert coordinator.cause is not None and coordinator.cause.node == "n1"


def test_what_is_remembered_of_attempts_is_bounded() -> None:
    coordinator = make_coordinator(max_restarts=500)
    for attempt in range(2 * MAX_ATTEMPTS):
        assert fail(coordinator, attempt)[0] == (0, "go")
    remembered = [ended["attempt"] for ended in coordinator.summary()["ended_attempts"]]
    assert remembered == list(range(MAX_ATTEMPTS, 2 * MAX_ATTEMPTS)), "the last ones"


def test_an_attempt_of_an_hour_is_progress() -> None:
    coordinator = make_coordinator(max_restarts=50)
    for attempt in range(1, 5):
        assert fail(coordinator, None, now=attempt * (LONG_S + 1))[0] == (0, "go")
    assert fail(coordinator, None, now=4 * (LONG_S + 1) + 1)[0] == (0, "go")
    assert fail(coordinator, None, now=4 * (LONG_S + 1) + 2)[0] == (0, "end")


def test_a_checkpoint_counts_as_progress_without_steps() -> None:
    coordinator = make_coordinator(max_restarts=50)
    for _attempt in range(5):
        assert fail(coordinator, None, saved=True)[0] == (0, "go")
    assert fail(coordinator, None)[0] == (0, "go")
    assert fail(coordinator, None)[0] == (0, "end")


def test_unkillable_processes_end_the_run() -> None:
    assert fail(make_coordinator(max_restarts=50), 10, stuck=True)[0] == (0, "end")


def test_a_lost_node_ends_the_run() -> None:
    coordinator = make_coordinator(max_restarts=50)
    coordinator.on_loss(1, "the connection was closed")
    for rank in (0, 2):
        coordinator.on_drained(rank, report("stopped", step=5), 1.0)
    assert kinds(coordinator.take_orders())[-2:] == [(0, "end"), (2, "end")]


def test_a_spare_takes_the_rank_of_a_lost_node_and_the_others_keep_theirs() -> None:
    coordinator = make_coordinator(max_restarts=1, spares=2)
    coordinator.on_loss(1, "the connection was closed")
    assert kinds(coordinator.take_orders()) == [(0, "stop"), (2, "stop")], "a spare has nothing to stop"
    for number in (0, 2):
        coordinator.on_drained(number, report("stopped", step=5), 1.0)
    # lost_after, one sign of life, abort_grace, and a second of slack
    coordinator.reset_silence(23.9)
    coordinator.tick(23.9)
    assert coordinator.take_orders() == [], "it may not know yet that it is lost, or be ending its ranks"
    coordinator.tick(24.0)
    assert coordinator.take_orders() == [(0, go(1, 0)), (2, go(1, 2)), (3, go(1, 1))]
    assert not coordinator.on_join(1, 24.0), "a replaced node stays out"
    assert coordinator.summary()["replaced"] == {"n1": "n3"}
    [ended] = coordinator.summary()["ended_attempts"]
    assert (ended["attempt"], ended["verdict"], ended["node"]) == (0, "lost", "n1")
    assert ended["rank"] is None
    assert EndedAttempt.from_dict(ended).to_dict() == ended, "its time is one that readers take"
    coordinator.on_start(3)
    coordinator.on_loss(3, "the connection was closed")  # the last attempt
    for number in (0, 2):
        coordinator.on_drained(number, report("stopped", step=7), 26.0)
    orders = coordinator.take_orders()
    assert kinds(orders)[-3:] == [(0, "end"), (2, "end"), (4, "end")]
    end = end_of(orders)
    assert (end["verdict"], end["node"]) == ("lost", "n3") and end["why"].endswith(f"; {end['note']}")


def test_too_few_spares_end_the_run() -> None:
    coordinator = make_coordinator(max_restarts=5, spares=1)
    coordinator.on_loss(1, "the connection was closed")
    coordinator.on_loss(2, "the connection was closed")
    coordinator.on_drained(0, report("stopped", step=5), 1.0)
    assert kinds(coordinator.take_orders())[-2:] == [(0, "end"), (3, "end")]


def test_lost_spares_do_not_end_the_run_and_replace_no_node() -> None:
    coordinator = make_coordinator(max_restarts=5, spares=1)
    coordinator.on_loss(3, "the connection was closed")
    assert coordinator.take_orders() == []
    coordinator.on_loss(1, "the connection was closed")
    for number in (0, 2):
        coordinator.on_drained(number, report("stopped", step=5), 1.0)
    assert kinds(coordinator.take_orders())[-2:] == [(0, "end"), (2, "end")]


def test_a_spare_replaces_a_node_that_does_not_join_or_leaves_before_the_start() -> None:
    coordinator = make_coordinator(gathered=False, spares=2, lost_after=0)
    for number in (0, 2, 3, 4):
        assert coordinator.on_join(number, 0.0)
    assert coordinator.missing_nodes() == ["n1"]
    coordinator.on_loss(2, "the connection was closed")
    coordinator.tick(GATHER_S - 0.1)
    assert coordinator.take_orders() == []
    coordinator.tick(GATHER_S)
    assert coordinator.take_orders() == [(0, go(0, 0)), (3, go(0, 2)), (4, go(0, 1))]
    assert not coordinator.on_join(1, GATHER_S), "its rank is taken"
    assert coordinator.summary()["nodes"] == coordinator.summary()["joined"] == 3


def test_the_run_does_not_wait_for_spares_and_they_may_join_late() -> None:
    coordinator = make_coordinator(2, gathered=False, spares=1, max_restarts=1)
    assert coordinator.on_join(0, 0.0) and coordinator.on_join(1, 0.0)
    assert coordinator.take_orders() == [(0, go(0, 0)), (1, go(0, 1))]
    assert coordinator.on_join(2, 50.0)
    coordinator.on_loss(1, "the connection was closed")
    coordinator.on_drained(0, report("stopped", step=5), 51.0)
    assert coordinator.take_orders()[-1] == (2, go(1, 1)), "it was silent long enough"


def test_a_stop_wins_while_a_restart_is_delayed() -> None:
    coordinator = make_coordinator(max_restarts=1, spares=1)
    coordinator.on_loss(1, "the connection was closed")
    for number in (0, 2):
        coordinator.on_drained(number, report("stopped", step=5), 1.0)
    coordinator.take_orders()
    coordinator.on_stop_request("stop requested", 5)
    assert kinds(coordinator.take_orders()) == [(0, "end"), (2, "end"), (3, "end")]


def test_a_node_that_is_never_lost_is_not_replaced() -> None:
    coordinator = make_coordinator(max_restarts=5, spares=1, lost_after=0)
    coordinator.on_loss(1, "the connection was closed")
    coordinator.on_failure(2, report("failed"), 1.0)
    for number in (0, 2):
        coordinator.on_drained(number, report("failed" if number else "stopped", step=5), 99.0)
    assert kinds(coordinator.take_orders())[-3:] == [(0, "end"), (2, "end"), (3, "end")]


def test_a_node_that_leaves_before_the_spares_join_may_be_replaced_later() -> None:
    coordinator = make_coordinator(gathered=False, spares=1, lost_after=0)
    for number in (0, 1, 2):
        if number != 2:
            assert coordinator.on_join(number, 0.0)
    coordinator.on_loss(1, "the connection was closed")
    assert coordinator.take_orders() == []
    assert coordinator.on_join(2, 1.0) and coordinator.on_join(3, 2.0)
    coordinator.tick(2.0 + GATHER_S)
    assert coordinator.take_orders() == [(0, go(0, 0)), (2, go(0, 2)), (3, go(0, 1))]


def test_a_spare_replaces_a_node_with_unkillable_processes() -> None:
    coordinator = make_coordinator(max_restarts=1, spares=1)
    coordinator.take_orders()
    coordinator.on_failure(1, report("failed"), 1.0)
    for number in range(3):
        coordinator.on_drained(number, report("failed" if number == 1 else "stopped", step=3, stuck=number == 1), 1.0)
    assert coordinator.take_orders()[-3:] == [(0, go(1, 0)), (2, go(1, 2)), (3, go(1, 1))]
    for number in (0, 2, 3):
        coordinator.on_drained(number, report("succeeded"), 2.0)
    assert kinds(coordinator.take_orders()) == [(0, "end"), (1, "end"), (2, "end"), (3, "end")]


def test_the_reports_on_the_last_attempts_are_kept() -> None:
    coordinator = make_coordinator(max_restarts=100)
    for attempt in range(40):
        fail(coordinator, attempt)
    kept = [report["attempt"] for report in coordinator.summary()["reports"]]
    assert kept == list(range(8, 40))
