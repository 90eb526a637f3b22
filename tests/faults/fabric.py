# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a run whose ranks do not move, or use another fabric than planned."""

from __future__ import annotations

from ansible_collections.muster.train.tests.faults.row import Row

RUNNER = "tests/unit/module_utils/runner"
FABRIC = (
    Row(
        "no rank makes a step or prints anything for `hang_watch` (120 s)",
        "all ranks are looked at: who waits for whom in which collective, and what the others do; only "
        "`hang_action=stop` ends the run",
        "`running`",
        tests=(
            "tests/integration/test_hang.py::test_the_rank_that_leaves_a_collective_is_named",
            f"{RUNNER}/hang/test_situations.py::test_a_rank_that_works_is_seen_to_work",
        ),
    ),
    Row(
        "NCCL does not use the fabric of the plan, or its log does not prove it, with `verify_transport=fail`",
        "all nodes are stopped after the first step, or at once where a rank has fallen back; a run that ends earlier "
        "is judged at its end. It is not started again",
        "`failed`, names the node and what its log shows",
        tests=(
            f"{RUNNER}/gang/test_transport_watch.py::test_a_fallback_on_one_node_ends_the_run_and_is_named",
            f"{RUNNER}/gang/runners/test_transport.py::test_at_the_end_the_fabric_is_proved_or_the_run_has_failed",
            "tests/integration/test_transport.py::test_a_fallback_to_tcp_ends_the_run_and_is_its_cause",
        ),
    ),
)
