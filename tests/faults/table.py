# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault: its row in docs/faults.md, and the function that makes it happen."""

from __future__ import annotations

import signal

from ansible_collections.muster.train.tests.faults import (
    anything,
    clocks,
    containers,
    controller,
    disks,
    gangs,
    memory,
    network,
    nodes,
    ports,
    races,
    starting,
    torchrun,
)
from ansible_collections.muster.train.tests.faults.fabric import FABRIC
from ansible_collections.muster.train.tests.faults.row import IDLE, Fault, Row
from ansible_collections.muster.train.tests.faults.storage import STORAGE
from ansible_collections.muster.train.tests.support import memory as groups

UNIT = "tests/unit/module_utils/runner"
# Of a node that is silent, with the default of `launch_lost_after`.
DETECTED_S = 6.5

ROWS = [
    Row(
        "a node's runner does not join",
        "the others wait 60 s after the last one joined, at most `launch_join_timeout` (600 s), then end; no "
        "rank starts",
        "`failed`, names the missing nodes",
        (Fault("a node does not join: time beyond the timeout", nodes.does_not_come, 5.0, at_once=IDLE),),
        (f"{UNIT}/gang/test_coordinator.py::test_a_node_that_does_not_join_is_named",),
    ),
    Row(
        "the launcher is missing, the script fails, or a rank crashes",
        "all nodes are stopped: SIGTERM, then SIGKILL after `launch_abort_grace` (10 s)",
        "`failed`, with node, rank and last message",
        (
            Fault("a rank crashes, its peers idle", nodes.rank_crashes, 15.0),
            Fault("a rank crashes, its peers ignore SIGTERM", nodes.rank_crashes_beside_deaf_ones, 15.0),
            Fault("a rank crashes under torchrun", torchrun.rank_crashes, 15.0, "rounds", 1, torchrun.skip_reason),
            Fault(
                "a rank crashes under torchrun, its peers ignore SIGTERM",
                torchrun.rank_crashes_beside_deaf_ones,
                *(15.0, "torch", 1, torchrun.skip_reason),
            ),
        ),
        (f"{UNIT}/gang/runners/test_base.py::test_a_command_that_is_missing_on_one_node_fails_the_run",),
    ),
    Row(
        "the same, with `max_restarts`",
        "all nodes start again at the next port, which the head's runner keeps; two attempts in a row without a new "
        "step or checkpoint, neither of which lasted an hour, end the run",
        "that of the last attempt",
        (
            Fault(
                "a rank crashes under torchrun: until all ranks run again",
                *(torchrun.again, 60.0, "torch", 1, torchrun.skip_reason),
            ),
        ),
        (f"{UNIT}/gang/runners/test_attempts.py::test_attempts_without_progress_end_the_run",),
    ),
    Row(
        "a rank needs more memory than its unit, its container or the machine has",
        "the kernel kills it, not the runner: a unit has `OOMPolicy=continue`; all nodes are stopped or started again, "
        "as above",
        "`failed`, with node, rank and the kernel's words",
        (Fault("memory runs out under a unit's control group", memory.runs_out, 15.0, skip_reason=groups.skip_reason),),
        (f"{UNIT}/attempt/test_memory.py::test_memory_that_ran_out_is_a_cause_of_its_own",),
    ),
    Row(
        "a clock is set back during a run, or is wrong when old runs are removed",
        "progress and checkpoints are what changed in the file system, whatever its times say; `teardown` removes no "
        "run directory if the clocks of the node, its file system and the controller contradict each other",
        "unchanged",
        (Fault("a clock is set back, ranks crash: until all run again", clocks.set_back, 20.0),),
        (
            f"{UNIT}/gang/test_restarts.py::test_checkpoints_under_a_clock_that_was_set_back_are_progress",
            "tests/unit/module_utils/_runs/test_prune.py::test_a_run_that_is_not_clearly_old_and_ended_stays",
        ),
    ),
    Row(
        "a runner is killed",
        "the kernel sends SIGTERM to its launcher (ranks that ignore it stay until `stop`); the other nodes are "
        "stopped",
        "`lost`, names the node",
        (Fault("a runner is killed", nodes.hit(signal.SIGKILL, head=False, runner_only=True), 30.0),),
        (
            f"{UNIT}/test_main.py::test_launcher_dies_with_a_killed_runner",
            "tests/integration/test_faults.py::test_launch_says_that_the_runner_was_killed_over_a_script_that_ignores_sigterm",
        ),
    ),
    Row(
        "a node or its container dies, freezes, or is cut off",
        "the others are stopped at once if the connection breaks, else after `launch_lost_after` (5 s); the "
        "node ends itself when it returns",
        "`lost`, names the node",
        (
            Fault("a node is killed", nodes.hit(signal.SIGKILL, head=False), 30.0),
            Fault("a container is killed at any moment", containers.killed, 30.0, skip_reason=containers.skip_reason),
            Fault("a node freezes", nodes.hit(signal.SIGSTOP, head=False), DETECTED_S, at_once=IDLE),
            Fault("a node is cut off", network.cut_off(head=False), DETECTED_S, "rounds", IDLE, network.skip_reason),
        ),
        ("tests/integration/test_faults.py::test_runner_killed_and_node_rebooted",),
    ),
    Row(
        "the same, with `max_restarts` and a spare",
        "once the lost node must have ended itself, all start again at the next port, and the spare takes its rank. A "
        "frozen node, or ranks that ignore SIGTERM under a killed runner, may still write then, but start nothing",
        "that of the last attempt",
        (
            Fault(
                f"a node is killed: until a spare has its ranks, lost after {gangs.LOST_S} s",
                *(nodes.replaced, 20.0, "rounds", IDLE),
            ),
            Fault(
                f"a node is cut off: until a spare has its ranks, lost after {gangs.LOST_S} s",
                *(network.replaced, 20.0, "rounds", IDLE, network.skip_reason),
            ),
        ),
        (
            "tests/integration/test_spares.py::test_the_run_ends_although_the_head_is_away_and_a_node_dies",
            f"{UNIT}/gang/test_coordinator_restarts.py::test_too_few_spares_end_the_run",
        ),
    ),
    Row(
        "a waiting spare dies, freezes, or gets a signal",
        "the run continues without it",
        "`running`",
        tests=(
            f"{UNIT}/gang/runners/test_attempts.py::test_a_spare_that_gets_a_signal_leaves_and_the_run_goes_on",
            f"{UNIT}/gang/test_coordinator_restarts.py::test_lost_spares_do_not_end_the_run_and_replace_no_node",
        ),
    ),
    Row(
        "the head dies, freezes, or is cut off",
        "every other node ends itself after the same time",
        "`lost`, from the other nodes; a head that was cut off names the nodes it lost",
        (
            Fault("the head is killed", nodes.hit(signal.SIGKILL, head=True), 30.0),
            Fault("the head freezes", nodes.hit(signal.SIGSTOP, head=True), DETECTED_S, at_once=IDLE),
            Fault("the head is cut off", network.cut_off(head=True), DETECTED_S, "rounds", IDLE, network.skip_reason),
        ),
    ),
    Row(
        "a node pauses, or is cut off, for three fifths of `launch_lost_after`, or all nodes are busy",
        "nothing: its ranks wait or continue; after a cut it connects anew, since TCP may be silent for as long again",
        "`running`",
        (
            Fault("a node pauses for 3.2 s, then a stop", nodes.pauses, 5.0, "rounds", IDLE),
            Fault(
                "a node is cut off for 3.2 s, then a stop",
                *(network.cut_off_shortly, 5.0, "rounds", IDLE, network.skip_reason),
            ),
            Fault("six programs use all cores for 10 s, then a stop", nodes.busy, 5.0),
        ),
    ),
    Row(
        "a node reboots",
        "as when it dies; nothing starts by itself, and its state says that it rebooted",
        "`lost`, names the node",
        tests=("tests/integration/test_faults.py::test_runner_killed_and_node_rebooted",),
    ),
    Row(
        "`launch_lost_after: 0`",
        "silence and broken connections end nothing, every node continues on its own; torchrun waits an hour for "
        "its peers",
        "`lost` once all others have ended",
        tests=(
            f"{UNIT}/gang/runners/test_losses.py::test_a_member_that_is_never_lost_continues_alone",
            f"{UNIT}/gang/runners/test_losses.py::test_a_head_that_never_loses_nodes_continues_without_a_member",
        ),
    ),
    Row(
        "`stop` on some of the nodes only",
        "it stops all nodes: SIGTERM, then SIGKILL after `launch_stop_grace`",
        "`stopped`",
        (
            Fault("a stop, ranks exit on SIGTERM", nodes.stopped(deaf=False), 5.0),
            Fault("a stop, ranks ignore SIGTERM", nodes.stopped(deaf=True), gangs.STOP_GRACE_S + 5.0),
        ),
        (f"{UNIT}/gang/runners/test_base.py::test_a_stop_before_all_have_joined_wins",),
    ),
    Row(
        "`stop` during the start of a run",
        "the stop wins: what has started is stopped, the rest never starts",
        "`stopped`",
        (Fault("a stop during the start", starting.stop_meets_start, 20.0, "injections", IDLE),),
    ),
    Row(
        "a process survives SIGKILL (uninterruptible sleep)",
        "it is named after 10 s and left to the kernel; a restart needs a spare in place of its node",
        "`failed`, names the PIDs",
        (Fault("a rank hangs on its disk, then a stop", disks.holds_a_rank, 20.0, "rounds", IDLE, disks.skip_reason),),
        (
            f"{UNIT}/gang/test_coordinator_restarts.py::test_unkillable_processes_end_the_run",
            f"{UNIT}/gang/test_coordinator_restarts.py::test_a_spare_replaces_a_node_with_unkillable_processes",
        ),
    ),
    Row(
        "a disk fills up during the run",
        "log lines are dropped and counted; `stop` and the final state still find room",
        "unchanged",
        (Fault("a disk is full, then a stop there", disks.exhausted(disks.fill), 5.0, "rounds", 2, disks.skip_reason),),
        (f"{UNIT}/test_files.py::test_a_full_log_disk_does_not_end_the_training",),
    ),
    *STORAGE,
    Row(
        "a port of the run is taken",
        "gang port: the head tries for 5 s and ends, and the launch stops the other nodes. Rank port: the head's "
        "launcher fails; a restart uses the next port, which no other process can take after the start",
        "`failed`, names the port",
        (
            Fault("the runners' port is taken", ports.of_the_gang, 20.0, at_once=IDLE),
            Fault("the ranks' port is taken", ports.of_the_ranks, 15.0),
            Fault("the next attempt's port is taken: until the following one runs", ports.of_the_next_attempt, 15.0),
        ),
        ("tests/integration/test_live_faults.py::test_a_fault_is_reported",),
    ),
    Row(
        "the head's ranks finish long before the others'",
        "its launcher hosts the store of all ranks, and stays until they are done",
        "`succeeded`",
        (
            Fault(
                "the head finishes first (torch's exit barrier shortened)",
                *(torchrun.head_is_done_first, None, "torch", 1, torchrun.skip_reason),
            ),
        ),
        ("tests/faults/test_suite.py::test_without_the_gang_a_head_that_finishes_first_fails_its_peers",),
    ),
    Row(
        "the controller dies while it starts a run",
        "if all runners have started, the run continues; otherwise they end after 60 s",
        "`running` or `failed`",
        (Fault("a controller is killed: until all nodes run or none", controller.dies, 65.0, "kills", IDLE),),
        ("tests/integration/test_controller_end.py::test_a_run_outlives_its_controller_and_is_collected_completely",),
    ),
    Row(
        "two launches of one run, or of one slot, at once",
        "the head's lock decides; the other launch is refused and told which run holds the slot",
        "that of the winner",
        (Fault("two launches at once: until one runs", races.two_launches, None, "races", IDLE),),
        (
            "tests/integration/test_races.py::test_one_of_two_launches_wins_every_time",
            "tests/integration/test_races.py::test_two_launches_at_once_from_one_directory",
            "tests/integration/test_races.py::test_one_run_in_two_slots_is_that_of_one_launch",
            "tests/integration/test_races.py::test_of_two_launches_with_opposite_heads_one_wins",
            f"{UNIT}/gang/runners/test_base.py::test_a_member_waits_for_its_slot_while_its_head_waits_for_it",
        ),
    ),
    *FABRIC,
    Row(
        "a stranger connects to the head's runner",
        "it cannot prove the key and is disconnected within 5 s",
        "unchanged",
        tests=(
            f"{UNIT}/gang/test_strangers.py::test_a_stranger_is_refused",
            f"{UNIT}/gang/test_strangers.py::test_many_strangers_keep_no_member_out",
        ),
    ),
    Row(
        "any of these faults at any moment",
        "as above; a launch that was not complete is stopped by the launch itself, or ends within a minute",
        "as above",
        (Fault("any of these faults at any moment", anything.anything, None, "injections", IDLE),),
    ),
]
FAULTS = {fault.name: fault for row in ROWS for fault in row.faults}
