# SPDX-License-Identifier: GPL-3.0-or-later
"""When all nodes look at their ranks, and what is concluded and done then."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import (
    COMPUTES,
    Collective,
    NodeLook,
    RankPosition,
)
from ansible_collections.muster.train.plugins.module_utils._records.run import Pace
from ansible_collections.muster.train.plugins.module_utils._records.stacks import StackFrame
from ansible_collections.muster.train.plugins.module_utils.runner.gang.end_cause import HANG, EndCause
from ansible_collections.muster.train.plugins.module_utils.runner.gang.hang_watch import (
    LONGEST_PAUSE_S,
    LOOK_LIMIT_S,
    HangWatch,
)
from ansible_collections.muster.train.tests.support.coordinators import end_of, kinds, make_coordinator, report

NODES = {0: "n1", 1: "n2"}
# Answers to the first order to look.
WAITS = NodeLook(positions=[RankPosition([0], [Collective("default_pg", "all_reduce", 4, 4, True)])], number=1)
ABSENT = NodeLook(positions=[RankPosition([1], [Collective("default_pg", "all_reduce", 3, 3)])], number=1)
OTHER = NodeLook(positions=[RankPosition([1], [Collective("default_pg", "broadcast", 4, 4, True)])], number=1)
WORKS = NodeLook(positions=[dataclasses.replace(ABSENT.positions[0], activity=COMPUTES)], number=1)
MOVED = NodeLook(positions=[dataclasses.replace(ABSENT.positions[0], frame=StackFrame("load", "a.py", 1))], number=1)


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


def again(watch: HangWatch, now: float, *looks: NodeLook) -> HangWatch:
    """The same run, at which its nodes look once more."""
    order = watch.look_number + 1
    assert watch.tick(silent(now), 0, NODES, now)
    for number, look in enumerate(looks):
        watch.note(number, dataclasses.replace(look, number=order))
    assert not watch.tick(silent(now + 1), 0, NODES, now + 1)
    return watch


def test_where_the_ranks_of_a_silent_run_are_is_known() -> None:
    hang = watched().hang
    assert hang is not None
    assert (hang.waiting, hang.absent, hang.node, hang.silent_s, hang.is_stopped) == ([0], [1], "n2", 120, False)
    assert (hang.is_certain, hang.is_moving) == (False, False)
    assert hang.folder
    assert hang.at


def test_ranks_in_different_collectives_hang_for_certain() -> None:
    hang = watched(WAITS, OTHER).hang
    assert hang is not None
    assert hang.is_certain


def test_a_step_ends_it() -> None:
    watch = watched()
    assert not watch.tick(silent(3), 0, NODES, 600.0)
    assert watch.hang is None
    assert watch.tick(silent(120), 0, NODES, 720.0)


def test_what_stays_as_it_was_is_not_said_again() -> None:
    watch = watched()
    first = watch.hang
    assert again(watch, 300.0, WAITS, ABSENT).hang == first


@pytest.mark.parametrize("later", [WORKS, MOVED], ids=["works", "moved"])
def test_what_moves_again_is_no_longer_said_to_wait(later: NodeLook) -> None:
    watch = again(watched(), 300.0, WAITS, later)
    assert watch.hang is not None
    assert (watch.hang.is_moving, watch.hang.silent_s) == (True, 300)


def test_a_silent_run_is_left_alone_for_longer_and_longer() -> None:
    watch = watched(WAITS, WORKS)
    looks = []
    for second in range(122, 3600):
        if watch.tick(silent(second), 0, NODES, float(second)):
            looks.append(second)
            for node, look in enumerate((WAITS, WORKS)):
                watch.note(node, dataclasses.replace(look, number=1 + len(looks)))
    pauses = [later - earlier for earlier, later in zip(looks, looks[1:])]
    assert pauses == sorted(pauses)
    assert max(pauses) == LONGEST_PAUSE_S + 1


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


def test_of_what_cannot_be_read_nothing_is_said() -> None:
    assert watched(NodeLook(unread=[0], number=1), NodeLook(unread=[1], number=1)).hang is None


def test_a_look_that_nobody_asked_for_changes_nothing() -> None:
    watch = HangWatch(120)
    watch.note(0, WAITS)
    assert watch.tick(silent(120), 0, NODES, 120.0)
    watch.note(7, WAITS)
    assert not watch.tick(silent(121), 0, NODES, 121.0)
    assert watch.hang is None


def test_an_answer_that_comes_after_the_next_order_changes_nothing() -> None:
    watch = watched(NodeLook(unread=[0], number=1), None, until=120 + LOOK_LIMIT_S)
    assert watch.tick(silent(600), 0, NODES, 600.0)
    watch.note(0, WAITS)
    watch.note(1, ABSENT)
    assert not watch.tick(silent(601), 0, NODES, 601.0)
    assert watch.hang is None
    for node, look in enumerate((WAITS, ABSENT)):
        watch.note(node, dataclasses.replace(look, number=2))
    watch.tick(silent(602), 0, NODES, 602.0)
    assert watch.hang is not None


class Run:
    """A silent run on three nodes, of which the last one shows something else in each look."""

    def __init__(self, action: str, second: NodeLook = ABSENT) -> None:
        self.watch, self.coordinator, self._second = HangWatch(120, action), make_coordinator(), second

    def look(self, third: NodeLook | None, now: float) -> list[tuple[int, dict[str, Any]]]:
        """Let the nodes look, and return the orders that follow."""
        assert kinds(self.watch.watch(self.coordinator, silent(now), now)) == [(node, "look") for node in range(3)]
        for node, look in enumerate((WAITS, self._second, third)):
            if look is not None:
                self.watch.note(node, dataclasses.replace(look, number=self.watch.look_number))
        return self.watch.watch(self.coordinator, silent(now + 1), now + LOOK_LIMIT_S)

    @property
    def is_stopped(self) -> bool:
        assert self.watch.hang is not None
        assert self.watch.hang.is_stopped == (self.coordinator.cause is not None)
        return self.watch.hang.is_stopped


THIRD = NodeLook(positions=[dataclasses.replace(WAITS.positions[0], ranks=[2])])
READS = NodeLook(positions=[dataclasses.replace(ABSENT.positions[0], ranks=[2], activity=COMPUTES)])


@pytest.mark.parametrize(
    ("action", "second", "thirds", "is_stopped"),
    [
        ("stop", ABSENT, [THIRD], False),  # as one look sees it
        ("stop", ABSENT, [THIRD, THIRD], True),
        ("stop", ABSENT, [THIRD, READS], False),
        ("stop", ABSENT, [READS, READS], False),
        ("stop", ABSENT, [READS, THIRD, THIRD], True),
        ("stop", ABSENT, [None, None], False),  # that node may be the one that works
        ("stop", WAITS, [THIRD, THIRD], False),  # no rank is known to be absent
        ("stop", OTHER, [None], True),  # they hang for certain
        ("warn", OTHER, [THIRD, THIRD], False),
    ],
)
def test_what_the_policy_does(action: str, second: NodeLook, thirds: list[NodeLook | None], is_stopped: bool) -> None:
    run = Run(action, second)
    for number, third in enumerate(thirds):
        run.look(third, 120.0 * 3**number)
    assert run.is_stopped == is_stopped


def test_the_reason_for_a_stop_stays_until_the_next_attempt() -> None:
    run = Run("stop", OTHER)
    run.look(THIRD, 120.0)
    assert not run.watch.tick(silent(1), 0, NODES, 230.0)
    assert not run.watch.tick(silent(999), 0, NODES, 999.0)
    assert run.is_stopped
    assert not run.watch.tick(silent(1), 1, NODES, 1000.0)
    assert run.watch.hang is None


def test_the_files_of_a_look_are_kept_once() -> None:
    run = Run("warn")
    first, second = run.look(THIRD, 120.0), run.look(THIRD, 360.0)
    assert (kinds(first), second) == ([(node, "hang") for node in range(3)], [])
    assert len({order["name"] for _node, order in first}) == 1


def test_ranks_are_kept_only_while_none_moves() -> None:
    run = Run("keep")
    assert [order["keep"] for _node, order in run.look(THIRD, 120.0)] == [True] * 3
    assert [order["keep"] for _node, order in run.look(READS, 360.0)] == [False] * 3
    orders = run.watch.watch(run.coordinator, silent(1), 700.0)
    assert orders == [(node, {"type": "hang", "keep": False}) for node in range(3)]
    assert run.watch.watch(run.coordinator, silent(2), 701.0) == []


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
