# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of docs/faults.md on the storage of real clusters: shared, without locks or inodes, cleaned by others."""

from __future__ import annotations

from ansible_collections.muster.train.tests.faults import disks, homes
from ansible_collections.muster.train.tests.faults.row import Fault, Row
from ansible_collections.muster.train.tests.support import no_flock

UNIT = "tests/unit/module_utils/runner"
VERBS = "tests/integration/test_work_directories.py"

STORAGE = [
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
