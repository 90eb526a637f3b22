# SPDX-License-Identifier: GPL-3.0-or-later
"""When all nodes look at their ranks, and when a run hangs."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import Collective, NodeLook, RankPosition
from ansible_collections.muster.train.plugins.module_utils._records.run import Pace
from ansible_collections.muster.train.plugins.module_utils._records.stacks import StackFrame
from ansible_collections.muster.train.plugins.module_utils.runner.gang.end_cause import HANG, EndCause
from ansible_collections.muster.train.plugins.module_utils.runner.gang.hang_watch import LOOK_LIMIT_S, HangWatch
from ansible_collections.muster.train.tests.support.coordinators import end_of, kinds, make_coordinator, report

NODES = {0: "n1", 1: "n2"}
# Answers to the first order to look.
WAITS = NodeLook(positions=[RankPosition([0], [Collective("default_pg", "all_reduce", 4, 4, True)])], number=1)
ABSENT = NodeLook(positions=[RankPosition([1], [Collective("default_pg", "all_reduce", 3, 3)])], number=1)
LOADS = dataclasses.replace(
    ABSENT,
    positions=[dataclasses.replace(ABSENT.positions[0], ranks=[2], frame=StackFrame("readinto", "/p/socket.py", 1))],
)
MOVED = dataclasses.replace(ABSENT, has_moved=True)


def silent(seconds: float) -> Pace:
    return Pace(step_age_s=seconds, line_age_s=seconds + 1)


def watched(first: NodeLook | None = WAITS, second: NodeLook | None = ABSENT, until: float = 121.0) -> HangWatch:
    """A run that has been silent for two minutes, at which its nodes have looked."""
    watch = HangWatch(120)
    assert watch.tick(silent(120), 0, NODES, 120.0)
    for number, look in enumerate((first, second)):
        if look is not None:
            watch.note(number, look)
    assert not watch.tick(silent(121), 0, NODES, until)
    return watch


def test_a_run_that_stands_still_hangs() -> None:
    hang = watched().hang
    assert hang is not None
    assert (hang.waiting, hang.absent, hang.node, hang.silent_s, hang.is_stopped) == ([0], [1], "n2", 120, False)
    assert hang.folder
    assert hang.at


def test_what_is_known_is_not_looked_at_again_and_a_step_ends_it() -> None:
    watch = watched()
    assert not watch.tick(silent(500), 0, NODES, 500.0)
    assert watch.hang is not None
    assert not watch.tick(silent(3), 0, NODES, 600.0)
    assert watch.hang is None
    assert watch.tick(silent(120), 0, NODES, 720.0)


def test_a_slow_run_is_left_alone_for_longer_and_longer() -> None:
    watch = watched(WAITS, MOVED)
    assert watch.hang is None
    looks = []
    for second in range(122, 3600):
        if watch.tick(silent(second), 0, NODES, float(second)):
            looks.append(second)
            for node, look in enumerate((WAITS, MOVED)):
                watch.note(node, dataclasses.replace(look, number=1 + len(looks)))
    pauses = [later - earlier for earlier, later in zip(looks, looks[1:])]
    assert len(looks) < 6
    assert pauses == sorted(pauses)
    assert watch.hang is None


def test_without_a_limit_or_before_anything_is_known_nobody_looks() -> None:
    assert not HangWatch(0).tick(silent(9999), 0, NODES, 9999.0)
    assert not HangWatch(120).tick(None, 0, NODES, 9999.0)
    assert not HangWatch(120).tick(Pace(line_age_s=119), 0, NODES, 119.0)
    assert not HangWatch(120).tick(silent(120), 0, {}, 120.0)


def test_output_counts_as_much_as_steps() -> None:
    assert not HangWatch(120).tick(Pace(step_age_s=300, line_age_s=5), 0, NODES, 300.0)
    assert HangWatch(120).tick(Pace(line_age_s=120), 0, NODES, 120.0)  # a program that names no steps


def test_a_node_that_gives_no_answer_is_named_and_waited_for_so_long_only() -> None:
    assert watched(WAITS, None).hang is None
    hang = watched(WAITS, None, until=120 + LOOK_LIMIT_S).hang
    assert hang is not None
    assert hang.silent == ["n2"]


def test_what_cannot_be_read_is_not_said_to_hang() -> None:
    assert watched(NodeLook(unread=[0], number=1), NodeLook(unread=[1], number=1)).hang is None


def test_a_look_that_nobody_asked_for_changes_nothing() -> None:
    watch = HangWatch(120)
    watch.note(0, WAITS)
    assert watch.tick(silent(120), 0, NODES, 120.0)
    watch.note(7, WAITS)
    assert not watch.tick(silent(121), 0, NODES, 121.0)
    assert watch.hang is None


def test_an_answer_that_comes_after_the_next_order_changes_nothing() -> None:
    watch = watched(MOVED, None, until=120 + LOOK_LIMIT_S)
    assert watch.tick(silent(600), 0, NODES, 600.0)
    watch.note(0, WAITS)
    watch.note(1, ABSENT)
    assert not watch.tick(silent(601), 0, NODES, 601.0)
    assert watch.hang is None
    for node, look in enumerate((WAITS, ABSENT)):
        watch.note(node, dataclasses.replace(look, number=2))
    watch.tick(silent(602), 0, NODES, 602.0)
    assert watch.hang is not None


def test_the_reason_for_a_stop_stays_until_the_next_attempt() -> None:
    watch = watched()
    watch.note_stop()
    assert not watch.tick(silent(1), 0, NODES, 130.0)
    assert watch.hang is not None
    assert watch.hang.is_stopped
    assert not watch.tick(silent(1), 1, NODES, 140.0)
    assert watch.hang is None


@pytest.mark.parametrize(
    ("action", "third", "is_stopped"),
    [
        ("stop", WAITS, True),
        ("warn", WAITS, False),
        ("stop", None, False),  # it may work
        ("stop", LOADS, False),
    ],
)
def test_what_the_policy_does_with_a_hang(action: str, third: NodeLook | None, is_stopped: bool) -> None:
    watch, coordinator = HangWatch(120, action), make_coordinator()
    assert kinds(watch.watch(coordinator, silent(120), 120.0)) == [(number, "look") for number in range(3)]
    for number, look in enumerate((WAITS, ABSENT, third)):
        if look is not None:
            watch.note(number, look)
    orders = watch.watch(coordinator, silent(121), 120 + LOOK_LIMIT_S)
    assert kinds(orders) == [(number, "hang") for number in range(3)]
    assert watch.hang is not None
    assert (watch.hang.is_stopped, coordinator.cause is not None) == (is_stopped, is_stopped)


def test_a_run_in_which_no_rank_is_known_to_be_absent_is_not_stopped() -> None:
    watch, coordinator = HangWatch(120, "stop"), make_coordinator()
    watch.watch(coordinator, silent(120), 120.0)
    for number in range(3):
        watch.note(number, WAITS)
    watch.watch(coordinator, silent(121), 121.0)
    assert watch.hang is not None
    assert (watch.hang.is_stopped, coordinator.cause) == (False, None)


def test_ranks_that_are_kept_are_so_only_while_the_run_hangs() -> None:
    watch, coordinator = HangWatch(120, "keep"), make_coordinator()
    watch.watch(coordinator, silent(120), 120.0)
    for number, look in enumerate((WAITS, ABSENT, WAITS)):
        watch.note(number, look)
    assert {order["keep"] for _number, order in watch.watch(coordinator, silent(121), 121.0)} == {True}
    orders = watch.watch(coordinator, silent(1), 130.0)
    assert orders == [(number, {"type": "hang", "keep": False}) for number in range(3)]
    assert watch.watch(coordinator, silent(2), 131.0) == []


def test_an_attempt_that_hangs_is_stopped_everywhere_and_the_absent_rank_is_the_cause() -> None:
    coordinator = make_coordinator()
    coordinator.on_finding(EndCause("failed", "n1: hung: rank 1 never came", "n1", 1, kind=HANG), 5.0)
    assert kinds(coordinator.take_orders()) == [(0, "stop"), (1, "stop"), (2, "stop")]
    coordinator.on_finding(EndCause("failed", "n2: hung: once more", "n2", 2, kind=HANG), 6.0)
    assert coordinator.take_orders() == []
    for number in range(3):
        coordinator.on_drained(number, report("stopped"), 7.0)
    end = end_of(coordinator.take_orders())
    known = (end["verdict"], end["kind"], end["node"], end["rank"], end["why"])
    assert known == ("failed", HANG, "n1", 1, "n1: hung: rank 1 never came")


def test_an_attempt_that_hangs_may_be_followed_by_another() -> None:
    coordinator = make_coordinator(max_restarts=1, lost_after=0)
    coordinator.on_finding(EndCause("failed", "hung", kind=HANG), 5.0)
    coordinator.take_orders()
    for number in range(3):
        coordinator.on_drained(number, report("stopped", step=4), 7.0)
    coordinator.tick(60.0)
    assert kinds(coordinator.take_orders()) == [(0, "go"), (1, "go"), (2, "go")]
    [ended] = coordinator.summary()["ended_attempts"]
    assert (ended["verdict"], ended["why"]) == ("failed", "hung")


def test_what_is_already_being_stopped_does_not_hang() -> None:
    coordinator = make_coordinator()
    coordinator.on_stop_request("the user", 5.0)
    coordinator.take_orders()
    coordinator.on_finding(EndCause("failed", "n1: hung", "n1", 1, kind=HANG), 5.0)
    assert coordinator.take_orders() == []
