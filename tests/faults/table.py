# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens when …: every fault with what comes of it, in words for docs/faults.md and as what makes it happen."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.muster.train.tests.faults import (
    anything,
    containers,
    controller,
    disks,
    gangs,
    network,
    nodes,
    ports,
    races,
    starting,
    torchrun,
)


def nothing() -> str | None:
    """Nothing keeps a fault from being made."""
    return None


@dataclass(frozen=True)
class Fault:
    """A fault that the suite makes; it returns the seconds from the fault to the end of the last runner, or asserts.

    times is the suite's option that says how often. at_once: so many may be made side by side, as they mostly wait.
    """

    name: str
    make: Callable[[Path, random.Random], float]
    bound_s: float | None = None
    times: str = "rounds"
    at_once: int = 2
    why_not: Callable[[], str | None] = nothing


@dataclass(frozen=True)
class Row:
    """A row of docs/faults.md: what happens, what Muster does then, the run's verdict, and what shows it."""

    what: str
    then: str
    verdict: str
    faults: tuple[Fault, ...] = ()
    tests: tuple[str, ...] = ()  # file::test, from the checkout's root


UNIT = "tests/unit/module_utils/runner"
# Side by side, of rounds that mostly wait.
IDLE = 5

ROWS = [
    Row(
        "a node's runner does not come",
        "the others wait 60 s after the last one came, at most `launch_join_timeout` (600 s), then all end; no rank "
        "was started",
        "`failed`, the missing named",
        (Fault("a node does not come: beyond the timeout", nodes.does_not_come, 5.0, at_once=IDLE),),
        (f"{UNIT}/gang/test_coordinator.py::test_who_does_not_come_is_named",),
    ),
    Row(
        "the launcher is not there, the script fails, a rank crashes",
        "every node is told at once: SIGTERM to the launchers, SIGKILL after `launch_abort_grace` (10 s), as for the "
        "ranks beside the one that failed",
        "`failed`, with node, rank and the script's last words",
        (
            Fault("a rank crashes, its peers idle", nodes.rank_crashes, 15.0),
            Fault("a rank crashes, its peers ignore SIGTERM", nodes.rank_crashes_beside_deaf_ones, 15.0),
            Fault("a rank crashes under torchrun", torchrun.rank_crashes, 15.0, "rounds", 1, torchrun.why_not),
            Fault(
                "a rank crashes under torchrun, its peers ignore SIGTERM",
                torchrun.rank_crashes_beside_deaf_ones,
                *(15.0, "torch", 1, torchrun.why_not),
            ),
        ),
        (f"{UNIT}/gang/test_base.py::test_a_command_that_one_node_does_not_have",),
    ),
    Row(
        "the same, with `max_restarts`",
        "when nothing is left on any node, new launchers on all, at the next port; two attempts in a row without a "
        "step more (`rank_*_metrics.jsonl`) or a file below `checkpoints` end it",
        "the last attempt's",
        (
            Fault(
                "a rank crashes under torchrun: until all go on",
                *(torchrun.again, 60.0, "torch", 1, torchrun.why_not),
            ),
        ),
        (f"{UNIT}/gang/test_base.py::test_attempts_that_get_nowhere_end",),
    ),
    Row(
        "a runner is killed",
        "its launcher gets SIGTERM from the kernel (ranks that ignore it stay until `stop`); its connection breaks, "
        "and all others are ended",
        "`lost`, the node named",
        (Fault("a runner is killed", nodes.hit(signal.SIGKILL, head=False, runner_only=True), 30.0),),
        (
            f"{UNIT}/test_main.py::test_launcher_dies_with_a_killed_runner",
            "tests/integration/test_faults.py::test_launch_says_that_the_runner_was_killed_over_a_script_that_ignores_sigterm",
        ),
    ),
    Row(
        "a node or its container dies, freezes, hangs on its disk, or is cut off",
        "the others are ended at once where its connection breaks, else after `launch_lost_after` (12 s) of silence; "
        "when it comes back it ends itself, and is not taken in again",
        "`lost`, the node named",
        (
            Fault("a node is killed", nodes.hit(signal.SIGKILL, head=False), 30.0),
            Fault("a container is killed, at any moment", containers.killed, 30.0, why_not=containers.why_not),
            Fault("a node freezes", nodes.hit(signal.SIGSTOP, head=False), 30.0, at_once=IDLE),
            Fault("a node's disk hangs", disks.hangs(head=False), 30.0, "rounds", IDLE, disks.why_not),
            Fault("a node is cut off", network.cut_off(head=False), 30.0, "rounds", IDLE, network.why_not),
        ),
        ("tests/integration/test_faults.py::test_runner_killed_and_node_rebooted",),
    ),
    Row(
        "the same, with `max_restarts` and a spare",
        "once a node that was cut off must have ended by itself (`launch_lost_after`, `launch_abort_grace` and some "
        "seconds after its last word), all start again at the next port; the spare has its node rank. A node that "
        "only stood still so long, or ranks that ignore SIGTERM under a killed runner, may still write then",
        "the last attempt's",
        (
            Fault(
                f"a node is killed: until a spare has its ranks, lost after {gangs.LOST_S} s",
                *(nodes.replaced, 20.0, "rounds", IDLE),
            ),
            Fault(
                f"a node is cut off: until a spare has its ranks, lost after {gangs.LOST_S} s",
                *(network.replaced, 20.0, "rounds", IDLE, network.why_not),
            ),
        ),
        (
            "tests/integration/test_spares.py::test_the_head_is_away_and_another_node_dies_and_the_run_is_done_all_the_same",
            f"{UNIT}/gang/test_coordinator.py::test_too_few_spares_end_it",
        ),
    ),
    Row(
        "a spare that waits dies, freezes, or is told to end by a signal",
        "nothing: the run goes on without it",
        "`running`",
        tests=(
            f"{UNIT}/gang/test_base.py::test_a_spare_that_gets_a_signal_leaves_and_the_run_goes_on",
            f"{UNIT}/gang/test_coordinator.py::test_spares_that_are_lost_end_nobody_and_replace_nobody",
        ),
    ),
    Row(
        "the head dies, freezes, hangs on its disk, or is cut off",
        "each of the others ends itself after the same time",
        "`lost`, from the others' states; a head that was cut off names whom it does not hear",
        (
            Fault("the head is killed", nodes.hit(signal.SIGKILL, head=True), 30.0),
            Fault("the head freezes", nodes.hit(signal.SIGSTOP, head=True), 30.0, at_once=IDLE),
            Fault("the head's disk hangs", disks.hangs(head=True), 30.0, "rounds", IDLE, disks.why_not),
            Fault("the head is cut off", network.cut_off(head=True), 30.0, "rounds", IDLE, network.why_not),
        ),
    ),
    Row(
        "a node or its disk stands still for less than `launch_lost_after`",
        "nothing: its ranks wait, or go on",
        "`running`",
        (
            Fault("a node pauses, then a stop", nodes.pauses, 5.0, "rounds", IDLE),
            Fault("a disk pauses, then a stop", disks.hangs_shortly, 5.0, "rounds", IDLE, disks.why_not),
        ),
    ),
    Row(
        "a node reboots",
        "as when it dies; nothing starts by itself, and its state names the reboot",
        "`lost`, the node named",
        tests=("tests/integration/test_faults.py::test_runner_killed_and_node_rebooted",),
    ),
    Row(
        "`launch_lost_after: 0`",
        "silence and broken connections end nothing: each node goes on by itself; torchrun waits an hour for its "
        "peers to be done, then ends",
        "`lost` once all others have ended",
        tests=(
            f"{UNIT}/gang/test_base.py::test_who_may_never_be_lost_goes_on_alone",
            f"{UNIT}/gang/test_base.py::test_a_head_that_loses_nobody_goes_on_without_a_member",
        ),
    ),
    Row(
        "`stop` on some of the nodes only",
        "a stop on one is a stop on all: SIGTERM, and SIGKILL after `launch_stop_grace`",
        "`stopped`",
        (
            Fault("a stop, heeded", nodes.stopped(deaf=False), 5.0),
            Fault("a stop, ignored by the ranks", nodes.stopped(deaf=True), gangs.STOP_GRACE_S + 5.0),
        ),
        (f"{UNIT}/gang/test_base.py::test_a_stop_before_all_have_come_wins",),
    ),
    Row(
        "`stop` while a run is being started",
        "the stop wins: what has not begun never does, and what has is ended",
        "`stopped`",
        (Fault("a stop meets a start", starting.stop_meets_start, 20.0, "injections", IDLE),),
    ),
    Row(
        "a process that SIGKILL does not end stays (uninterruptible sleep)",
        "10 s later it is named and left to the kernel; there is no new attempt, but with a spare in the node's place",
        "`failed`, the pids named",
        (Fault("a rank hangs on a disk, then a stop", disks.holds_a_rank, 20.0, "rounds", IDLE, disks.why_not),),
        (
            f"{UNIT}/gang/test_coordinator.py::test_processes_that_stay_end_it",
            f"{UNIT}/gang/test_coordinator.py::test_processes_that_stay_leave_their_rank_to_a_spare",
        ),
    ),
    Row(
        "a disk fills up while the run goes on",
        "log lines are lost and counted; `stop` and the last word still find room",
        "as without it",
        (Fault("a disk is full, then a stop there", disks.full, 5.0, "rounds", 2, disks.why_not),),
        (f"{UNIT}/test_files.py::test_a_full_log_disk_does_not_end_the_training",),
    ),
    Row(
        "somebody else listens on a port of the run",
        "the runners' port: the head tries for 5 s and ends, and the launch stops the other nodes. The ranks' port: "
        "the head's launcher fails; with `max_restarts` the next attempt has the next port",
        "`failed`, the port named",
        (
            Fault("the runners' port is taken", ports.of_the_gang, 20.0, at_once=IDLE),
            Fault("the ranks' port is taken", ports.of_the_ranks, 15.0),
            Fault("the next attempt's port is taken: until the one after runs", ports.of_the_next_attempt, 15.0),
        ),
        ("tests/integration/test_live_faults.py::test_a_fault_is_told_of",),
    ),
    Row(
        "the head's ranks end long before the others'",
        "its launcher, which holds the store they meet at, stays until they are done",
        "`succeeded`",
        (
            Fault(
                "the head is done first, torch's clock shortened",
                *(torchrun.head_is_done_first, None, "torch", 1, torchrun.why_not),
            ),
        ),
        ("tests/faults/test_suite.py::test_without_the_gang_a_head_that_is_done_takes_its_peers_along",),
    ),
    Row(
        "the controller goes away while it starts a run",
        "all runners were started: the run goes on. Some were not: the rest end 60 s later",
        "`running`, or `failed`",
        (Fault("a controller is killed: until all run or none", controller.dies, 65.0, "kills", IDLE),),
        ("tests/integration/test_controller_death.py::test_a_run_outlives_its_controller_and_comes_home_whole",),
    ),
    Row(
        "two launches of one run, or of one slot, at the same moment",
        "the head's lock decides; the other is refused and told who holds it",
        "the winner's",
        (Fault("two launches at once: until one runs", races.two_launches, None, "races", IDLE),),
        (
            "tests/integration/test_races.py::test_one_of_two_launches_wins_twenty_times",
            f"{UNIT}/gang/test_base.py::test_a_member_waits_for_its_slot_while_its_head_waits_for_it",
        ),
    ),
    Row(
        "a stranger connects to the head's runner",
        "it can prove no key and is sent away, at the latest after 5 s",
        "as without it",
        tests=(
            f"{UNIT}/gang/test_strangers.py::test_a_stranger_is_sent_away",
            f"{UNIT}/gang/test_strangers.py::test_a_crowd_of_strangers_keeps_nobody_out",
        ),
    ),
    Row(
        "a rank, an agent, a runner, a container, a node, a disk or a port is hit, or a stop is asked for, "
        "at any moment",
        "as above; what has not all started by then is taken back by the launch, or ends within a minute",
        "as above",
        (Fault("anything at any moment", anything.anything, None, "injections", IDLE),),
    ),
]
FAULTS = {fault.name: fault for row in ROWS for fault in row.faults}
