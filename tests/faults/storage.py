# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of docs/faults.md on the storage of real clusters: shared, without locks or inodes, cleaned by others."""

from __future__ import annotations

from ansible_collections.muster.train.tests.faults import disks, homes
from ansible_collections.muster.train.tests.faults.row import IDLE, Fault, Row
from ansible_collections.muster.train.tests.support import no_flock

UNIT = "tests/unit/module_utils/runner"
VERBS = "tests/integration/test_work_directories.py"

STORAGE = [
    Row(
        "the storage of one node or of all does not answer for less than `launch_disk_wait` (300 s), as when a file "
        "server fails over",
        "nothing: `status` and `follow` name the nodes; output waits in memory (8 MiB a node) and in the pipes (1 MiB "
        "a rank), after which the ranks wait too; a restart waits until all storage has answered",
        "`running`",
        (
            Fault("a disk pauses, then a stop", disks.hangs_shortly, 5.0, "rounds", IDLE, disks.skip_reason),
            Fault("all disks stall for 60 s, then a stop", disks.all_stall, 5.0, "rounds", 2, disks.skip_reason),
        ),
        (
            f"{UNIT}/test_stalled_storage.py::test_output_waits_in_bounded_memory_while_the_storage_does_not_answer",
            "tests/integration/test_stalled_storage.py::test_a_run_whose_storage_stalls_on_all_nodes_succeeds",
        ),
    ),
    Row(
        "the storage of a node does not answer for longer",
        "its ranks and those of all other nodes are stopped; a spare can take its rank. The node writes its last state "
        "if the storage answers within the same time again",
        "`failed`, names the node",
        (
            Fault(
                f"a node's disk hangs, given up after {disks.DISK_WAIT_S} s",
                *(disks.hangs(head=False), 30.0, "rounds", IDLE, disks.skip_reason),
            ),
            Fault(
                f"the head's disk hangs, given up after {disks.DISK_WAIT_S} s",
                *(disks.hangs(head=True), 30.0, "rounds", IDLE, disks.skip_reason),
            ),
        ),
    ),
    Row(
        "a program leaves damaged files, pipes, links, or a thousand nested directories among its outputs",
        "what cannot be read is left out, with a line in `runner.log`; `collect` names what it leaves on the node",
        "unchanged",
        tests=(f"{UNIT}/test_hostile_files.py::test_a_run_succeeds_although_its_files_cannot_be_read",),
    ),
    Row(
        "no inode is left during the run",
        "a stop request and the final state are written into files that exist since the start; where nothing can be "
        "written, `stop` signals the runner",
        "unchanged",
        (
            Fault(
                "a disk has no inode left, then a stop there",
                *(disks.exhausted(disks.use_inodes), 5.0, "rounds", 2, disks.skip_reason),
            ),
        ),
        (
            f"{UNIT}/test_files.py::test_a_run_on_a_full_disk_can_be_stopped",
            f"{UNIT}/test_files.py::test_where_no_request_can_be_written_a_signal_is_the_request",
            f"{VERBS}::test_a_run_is_stopped_where_no_inode_is_left",
        ),
    ),
    Row(
        "nodes share the work directory (a shared home)",
        "each node has a directory of its own in it; a runner that finds the job of another node refuses",
        "unchanged",
        (Fault("a node is killed, all share a home", homes.shared, 30.0),),
        (
            f"{UNIT}/test_storage.py::test_nodes_that_share_a_work_directory_run_side_by_side",
            f"{UNIT}/test_storage.py::test_the_job_of_another_node_is_refused",
            "tests/integration/test_shared_home.py::test_from_discover_to_teardown",
        ),
    ),
    Row(
        "flock(2) does not work in the work directory (Lustre without `-o flock`)",
        "the launch is refused with the kernel's words, by its checks or by the runner",
        "nothing starts",
        (Fault("flock does not work: until all have ended", homes.without_flock, 15.0, skip_reason=no_flock.missing),),
        (
            f"{UNIT}/test_storage.py::test_without_flock_the_refusal_says_so",
            f"{VERBS}::test_a_work_directory_without_flock_is_refused_by_the_plan",
        ),
    ),
    Row(
        "a cleaner of `/tmp` removes the files of a living run",
        "the runner makes them again; until then `status`, `stop` and the next launch know it by its processes",
        "`running`",
        (Fault("a cleaner removes files, then a stop there", homes.cleaned, 5.0),),
        (
            f"{UNIT}/test_upkeep.py::test_a_living_run_makes_its_files_again",
            f"{UNIT}/test_upkeep.py::test_before_it_does_it_is_known_by_its_processes",
            f"{VERBS}::test_a_run_whose_files_a_cleaner_removes_is_still_known_and_stopped",
        ),
    ),
]
