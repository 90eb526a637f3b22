# SPDX-License-Identifier: GPL-3.0-or-later
"""The row of a run whose ranks use another fabric than planned."""

from __future__ import annotations

from ansible_collections.muster.train.tests.faults.row import Row

GANG = "tests/unit/module_utils/runner/gang"
FABRIC = Row(
    "NCCL does not use the fabric of the plan, or its log does not prove it, with `verify_transport=fail`",
    "all nodes are stopped after the first step, or at once where a rank has fallen back; a run that ends earlier is "
    "judged at its end. It is not started again",
    "`failed`, names the node and what its log shows",
    tests=(
        f"{GANG}/test_transport_watch.py::test_a_fallback_on_one_node_ends_the_run_and_is_named",
        f"{GANG}/runners/test_transport.py::test_at_the_end_the_fabric_is_proved_or_the_run_has_failed",
        "tests/integration/test_transport.py::test_a_fallback_to_tcp_ends_the_run_and_is_its_cause",
    ),
)
